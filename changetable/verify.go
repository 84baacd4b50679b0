package changetable

import (
	"context"
	"database/sql/driver"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
)

// Verify checks a stored position against the server of the connection; it is
// called on every new connection, before the first read. The errors are
// BehindError when the server is not there yet, GapError when cleanup has
// removed what would come next, ForkError when the position is of another
// history, and InstanceGoneError.
func (r *Reader) Verify(ctx context.Context, pos checkpoint.Position) error {
	var (
		found                 bool
		start, oldest, newest checkpoint.LSN
		there                 Commit
	)
	s := request.Statement{Text: sqlVerify, Decl: declVerify, Args: []driver.Value{r.inst.Capture, pos.Proof.StartLSN[:]}}
	err := r.query(ctx, s, func(row []driver.Value) (err error) {
		found = true
		start, err = request.LSN(row[0])
		return err
	}, func(row []driver.Value) (err error) {
		oldest, err = request.LSN(row[0])
		return err
	}, func(row []driver.Value) (err error) {
		newest, err = request.LSN(row[0])
		return err
	}, func(row []driver.Value) (err error) {
		there, err = commitOf(row, r.opts.Location)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return &InstanceGoneError{Table: r.plan.table, Instance: r.inst.Capture}
	}
	return r.judge(pos, start, oldest, newest, there)
}

func (r *Reader) judge(pos checkpoint.Position, start, oldest, newest checkpoint.LSN, there Commit) error {
	proof := pos.Proof
	gap := start.Compare(low(pos)) > 0
	if !proof.IsZero() && !there.Proof().Equal(proof) {
		// What cleanup has removed from the mapping proves nothing either way.
		removed := there.LSN.IsZero() && (gap || !oldest.IsZero() && proof.StartLSN.Compare(oldest) < 0)
		ahead := there.LSN.IsZero() && newest.Compare(proof.StartLSN) < 0
		if !removed && !ahead {
			return &ForkError{Table: r.plan.table, Position: pos.LSN, Proof: proof, Found: there.Proof()}
		}
	}
	if gap {
		return &GapError{Table: r.plan.table, Instance: r.inst.Capture, Position: pos.LSN, Start: start}
	}
	// The position before the first change of all is below the first watermark
	// and needs no server to have reached it.
	if proof.IsZero() && pos.Done && pos.LSN.Next() == start {
		return nil
	}
	if newest.Compare(pos.LSN) < 0 {
		return &BehindError{Table: r.plan.table, Want: pos.LSN, Server: newest}
	}
	return nil
}
