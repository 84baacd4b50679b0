package capture

import (
	"context"
	"errors"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// onePass reads a table without a key, which cannot be resumed: what is given out of it before an error comes again.
func (t *tableSnapshot) onePass(ctx context.Context) error {
	w, f := t.worker, t.worker.flow
	guard, err := f.meta.open(ctx) // not of the pool: the pool may have but one
	if err != nil {
		return err
	}
	err = w.borrow(ctx, func(conn *session.Conn) (err error) {
		t.reader.Use(conn)
		t.passed, err = t.reader.ReadAll(ctx, guard, snapshot.Limits{Rows: f.cfg.MaxRows, Bytes: f.cfg.MaxBytes}, func(p *snapshot.Page) error { return t.give(ctx, p) })
		return err
	})
	_ = guard.Close() // it has let go of its lock, or its session is lost
	if err == nil {
		crashpoint.Hit(crashpoint.PassRead)
	}
	return err
}

// resolve waits until the capture job has told where the stream of a keyless table begins. Errors that pass do not make it read
// the table again.
func (t *tableSnapshot) resolve(ctx context.Context) error {
	w, f := t.worker, t.worker.flow
	for {
		var ok bool
		var pos checkpoint.Position
		err := w.borrow(ctx, func(conn *session.Conn) (err error) {
			t.reader.Use(conn)
			pos, ok, err = t.reader.Resolve(ctx, t.passed)
			return err
		})
		var behind *snapshot.BehindError
		switch {
		case ok:
			crashpoint.Hit(crashpoint.PassResolved)
			pos.Snapshot = t.pos.Snapshot
			t.pos = pos
			return nil
		case err == nil || errors.As(err, &behind):
			pause(ctx, f.cfg.PollInterval, w.gone)
		case session.IsTransient(err):
			w.setState(Retrying, err)
			w.retry.wait(ctx, w.gone)
		default:
			return err
		}
		if err := errors.Join(ctx.Err(), t.allowed()); err != nil {
			return err
		}
	}
}
