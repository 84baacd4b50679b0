package snapshot

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/session"
)

// ReadAll reads a table without a key in one statement, in no order, and gives
// its pages to each, which owns them. It cannot be resumed: after an error the
// table is read anew.
//
// Changes of such a table cannot be matched with rows that were read before, so
// none may be both in the snapshot and in the stream. guard is a second connection
// to the same server: it holds a shared lock on the table, for which it waits two
// seconds at most, while a SNAPSHOT transaction begins on the reader's own; then
// it lets go. Writers wait for that moment alone. The Mark that is returned leads
// to the position from which the stream goes on, by Resolve. Without a guard
// there is no lock and no mark, for a snapshot that nothing follows.
//
// The transaction is open until each has taken the last page, and nothing is
// held in memory beyond one page.
func (r *Reader) ReadAll(ctx context.Context, guard Conn, limits Limits, each func(*Page) error) (Mark, error) {
	if r.iso != Snapshot && r.plan.capture != "" {
		return Mark{}, &KeylessError{Table: r.plan.table}
	}
	p := &pass{reader: r, limits: limits.withDefaults(), each: each}
	if guard != nil {
		p.lock = &tableLock{conn: guard, table: r.plan.table, object: r.plan.object}
		if err := p.lock.take(ctx); err != nil {
			return Mark{}, r.explain(err)
		}
	}
	err := p.run(ctx)
	if p.lock != nil {
		if lockErr := p.lock.release(ctx); err == nil {
			err = lockErr
		}
	}
	if err != nil {
		r.builder.Discard()
		p.abandon(ctx)
		return Mark{}, p.explain(err)
	}
	if p.lock == nil {
		return Mark{}, nil
	}
	return p.lock.mark, nil
}

// pass is one reading of a whole table.
type pass struct {
	reader *Reader
	limits Limits
	each   func(*Page) error
	lock   *tableLock // nil without a handover

	now     time.Time
	exact   map[rowset.Cell][]byte // of the suspects among the rows in the builder
	refused error                  // what each returned
	asked   int                    // exact texts of a row
}

// speaksTDS tells whether the rows of a connection come as they are on the wire, so
// that their text can be seen and need not be asked for a second time.
func speaksTDS(ctx context.Context, conn Conn) bool {
	c, ok := conn.(interface {
		Raw(ctx context.Context) (bool, error)
	})
	if !ok {
		return false
	}
	raw, _ := c.Raw(ctx) // the reason is of no concern here
	return raw
}

// run reads the table. The lock is released as soon as the transaction has begun,
// which its first result set proves.
func (p *pass) run(ctx context.Context) error {
	r := p.reader
	started := false
	p.asked = 0
	if !speaksTDS(ctx, r.conn) {
		p.asked = len(r.plan.exactOf)
	}
	err := request.EachRow(ctx, r.conn, r.plan.pass(r.iso, p.asked > 0), func(row []driver.Value) error {
		started = true
		return p.begun(ctx, row)
	}, p.add)
	switch {
	case err != nil:
		return err
	case !started:
		return fmt.Errorf("the server did not say when the transaction began")
	}
	return p.flush()
}

func (p *pass) begun(ctx context.Context, row []driver.Value) error {
	if err := width(row, 4); err != nil {
		return err
	}
	now, ok := row[0].(time.Time)
	if !ok {
		return fmt.Errorf("reading the server's time: the driver gave a %T", row[0])
	}
	p.now = now.UTC()
	if p.lock == nil {
		return nil
	}
	switch at := placeOf(row[1:]); {
	case at.updateability != "READ_WRITE":
		return errReplica
	case at != p.lock.place:
		return fmt.Errorf("the two connections are to different servers, %s and %s; a table without a key is read from the primary alone", p.lock.place.server, at.server)
	}
	return p.lock.release(ctx)
}

func (p *pass) add(row *request.Row) error {
	r := p.reader
	known := len(p.exact)
	if err := r.append(row, p.asked); err != nil {
		return err
	}
	if suspects := r.builder.Suspects(); len(suspects) > known {
		for _, c := range suspects[known:] {
			if err := p.keep(c, row.Values[r.plan.cells:]); err != nil {
				return err
			}
		}
	}
	if r.builder.Len() >= p.limits.Rows || r.builder.Bytes() >= p.limits.Bytes {
		return p.flush()
	}
	return nil
}

// keep notes the exact text of a suspect: its row will not be found again.
func (p *pass) keep(c rowset.Cell, exact []driver.Value) error {
	i := slices.Index(p.reader.plan.exactOf, c.Column)
	if i < 0 {
		return fmt.Errorf("column %s has text that was not asked for", p.reader.plan.result[c.Column].Name)
	}
	units, ok := exact[i].([]byte)
	if !ok {
		return &ValueError{Table: p.reader.plan.table, Err: fmt.Errorf("column %s: the text of a row could not be read exactly", p.reader.plan.result[c.Column].Name)}
	}
	if p.exact == nil {
		p.exact = make(map[rowset.Cell][]byte)
	}
	p.exact[c] = append([]byte{}, units...)
	return nil
}

// flush gives out a page.
func (p *pass) flush() error {
	r := p.reader
	for _, c := range r.builder.Suspects() {
		if err := r.builder.Settle(c, p.exact[c]); err != nil {
			return &ValueError{Table: r.plan.table, Err: err}
		}
	}
	clear(p.exact)
	page := &Page{Rows: r.builder.Len(), Bytes: r.builder.Bytes(), ReadAt: p.now}
	if page.Rows == 0 {
		return nil
	}
	page, err := r.finish(page)
	if err != nil {
		return err
	}
	p.refused = p.each(page)
	return p.refused
}

// abandon ends the transaction of a pass that came to no end, which a session that
// goes on would keep.
func (p *pass) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	// The pass has failed already; a session that is broken has no transaction.
	_ = request.Each(ctx, p.reader.conn, request.Statement{Text: sqlEndTransaction}, func(int, []string, []driver.Value) error { return nil })
}

// explain leaves alone what the caller or this package has said already.
func (p *pass) explain(err error) error {
	r := p.reader
	var value *ValueError
	switch {
	case p.refused != nil && errors.Is(err, p.refused):
		return p.refused
	case errors.As(err, &value):
		return value
	case session.HasNumber(err, 3952):
		return &KeylessError{Table: r.plan.table, Err: err}
	}
	return r.explain(err)
}
