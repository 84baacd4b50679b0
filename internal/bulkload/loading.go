package bulkload

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/session"
)

// Loading is one INSERT BULK that takes record batches of a plan's schema one after
// the other. It begins with the first row that is sent. After an error of any of its
// methods nothing of it may be committed; the connection is usable or closed
// (conn.Broken).
type Loading struct {
	plan *Plan
	conn *session.Conn
	w    *session.BulkWriter
	sent int64
}

// Begin makes a load over the connection, which is busy with it until Finish or Abort.
func (p *Plan) Begin(conn *session.Conn) *Loading { return &Loading{plan: p, conn: conn} }

// Add sends the rows of a record batch. Those with a value that its column cannot
// hold are left out and reported. The load is withdrawn when the context of the first
// batch ends.
func (l *Loading) Add(ctx context.Context, rec arrow.RecordBatch) ([]RowError, error) {
	p := l.plan
	defer p.release()
	if err := p.bind(rec); err != nil {
		return nil, l.failed(ctx, err)
	}
	e := newEncoder(p.cols, p.buf, int(rec.NumRows()))
	for e.next < e.rows {
		e.fill()
		if len(e.buf) == 0 {
			continue
		}
		if l.w == nil {
			w, err := l.conn.Bulk(ctx, p.load)
			if err != nil {
				return nil, l.failed(ctx, err)
			}
			l.w = w
		}
		if err := l.w.Write(e.buf); err != nil {
			return nil, l.failed(ctx, err)
		}
	}
	p.keep(e.buf)
	l.sent += e.sent
	return e.bad, nil
}

// failed ends the load with an error.
func (l *Loading) failed(ctx context.Context, err error) error {
	_ = l.Abort(ctx) // a load that has failed by itself is over; else the error that is told is the one that counts
	return fmt.Errorf("loading into %s: %w", l.plan.table, err)
}

// Finish ends the load and gives the number of rows that are stored, as the server has
// counted them.
func (l *Loading) Finish(ctx context.Context) (int64, error) {
	if l.w == nil {
		return 0, nil
	}
	n, err := l.w.Finish(ctx)
	if err != nil {
		return 0, fmt.Errorf("loading into %s: %w", l.plan.table, err)
	}
	if n != l.sent {
		return n, fmt.Errorf("loading into %s: %w: %d rows were sent, and the server counts %d", l.plan.table, ErrCount, l.sent, n)
	}
	return n, nil
}

// Abort withdraws the load: the server stores nothing of it.
func (l *Loading) Abort(ctx context.Context) error {
	if l.w == nil {
		return nil
	}
	return l.w.Abort(ctx)
}

// Load writes the rows of a record batch, which has the plan's schema, in one
// INSERT BULK inside of the caller's transaction. Rows with a value that its
// column cannot hold are left out and reported. After an error nothing of the
// batch may be committed; the connection is usable or closed (conn.Broken).
func (p *Plan) Load(ctx context.Context, conn *session.Conn, rec arrow.RecordBatch) (res Result, err error) {
	l := p.Begin(conn)
	if res.Bad, err = l.Add(ctx, rec); err != nil {
		return res, err
	}
	res.Rows, err = l.Finish(ctx)
	return res, err
}

// keep remembers the buffer for the next load, unless a giant row has blown it up.
func (p *Plan) keep(buf []byte) {
	const most = 1 << 20
	if cap(buf) <= most {
		p.buf = buf[:0]
	}
}
