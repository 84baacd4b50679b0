package snapshot

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
)

// Mark is the moment at which the one pass over a table without a key began, by
// the clock that cdc.lsn_time_mapping goes by. It can be stored as JSON.
type Mark struct {
	// After is the newest transaction that had been captured by then.
	After checkpoint.LSN `json:"after"`
	// Time is the server's wall clock, labelled UTC: no transaction of the table
	// ends within 10 ms of it.
	Time time.Time `json:"time"`
	// OffsetMinutes is the server's offset from UTC.
	OffsetMinutes int `json:"offset_minutes"`
}

// IsZero tells whether there is no mark.
func (m Mark) IsZero() bool { return m.Time.IsZero() }

// Resolve finds the position from which the stream of a table without a key goes
// on: everything up to it is in the snapshot, nothing after it is. ok is false as
// long as the capture job has not stored a transaction that ended after the mark;
// a server that is idle stores an empty one about every five minutes.
func (r *Reader) Resolve(ctx context.Context, m Mark) (pos checkpoint.Position, ok bool, err error) {
	var (
		next, start checkpoint.LSN
		newest      checkpoint.Proof
		offset      driver.Value
		found       bool
	)
	s := request.Statement{Text: sqlResolve}
	s.Param("@after", "binary(10)", m.After[:])
	s.Param("@time", "datetime", m.Time.UTC().Format("2006-01-02T15:04:05.000"))
	s.Param("@instance", "nvarchar(128)", r.inst.Capture)
	err = request.Each(ctx, r.conn, s, func(set int, _ []string, row []driver.Value) (err error) {
		switch set {
		case 0:
			offset = row[1]
			next, err = request.LSN(row[0])
		case 1:
			newest, err = proofOf(row)
		default:
			found = true
			start, err = request.LSN(row[0])
		}
		return err
	})
	switch {
	case err != nil:
		return checkpoint.Position{}, false, r.explain(err)
	case !found:
		return checkpoint.Position{}, false, &GoneError{Table: r.plan.table, Instance: r.inst.Capture}
	case offset != int64(m.OffsetMinutes):
		return checkpoint.Position{}, false, fmt.Errorf("reading a snapshot of %s: the server's clock has changed between summer and winter time since the snapshot began, so that the time of a transaction proves nothing; read the table anew", r.plan.table)
	case next.IsZero():
		return checkpoint.Position{}, false, nil
	}
	if newest.StartLSN.IsZero() {
		pos = r.position(checkpoint.Proof{StartLSN: request.Before(next)}, start)
		pos.Proof = checkpoint.Proof{}
		return pos, true, nil
	}
	return r.position(newest, start), true, nil
}
