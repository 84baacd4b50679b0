package capture

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// leased gives the rig a store in a table of the server, as the process of that name has it.
func (r *rig) leased(process string) {
	r.t.Helper()
	conf := r.cfg.Session
	conf.AppName = "store " + process
	s, err := checkpoint.NewSQLStore(checkpoint.SQLConfig{
		Table: "[dbo].[positions]", Key: "k", Owner: process,
		Open: func(ctx context.Context) (checkpoint.Session, error) {
			c, err := session.Open(ctx, conf)
			if err != nil {
				return nil, err
			}
			return rowsSession{c}, nil
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Store = s
}

// rowsSession is a session as the SQL store wants it.
type rowsSession struct{ *session.Conn }

func (s rowsSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) (out [][]driver.Value, err error) {
	rows, err := s.Conn.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		row := make([]driver.Value, len(rows.Columns()))
		switch err := rows.Next(row); {
		case err == nil:
			out = append(out, row)
		case errors.Is(err, io.EOF):
			return out, nil
		default:
			return nil, err
		}
	}
}

// standby starts a flow that may have to wait, and tells when it runs.
func (r *rig) standby() (started *atomic.Pointer[running], done chan struct{}) {
	started, done = &atomic.Pointer[running]{}, make(chan struct{})
	go func() {
		defer close(done)
		f, err := r.tryStart(r.t.Context())
		if err != nil {
			r.t.Errorf("the standby: %v", err)
			return
		}
		started.Store(f)
	}()
	return started, done
}

// A second process waits while the first one lives. It takes over soon after an orderly stop, and after the expiry of the lease
// when the first one is killed; it goes on where that had saved.
func TestStandbyTakesOver(t *testing.T) {
	for _, c := range []struct {
		how            string
		within, notAll time.Duration
	}{{"close", 6 * time.Second, 0}, {"kill", 36 * time.Second, 10 * time.Second}} {
		t.Run(c.how, func(t *testing.T) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.tables("a")
				r.leased("first")
				f := r.start()
				r.insert("a", 1, 20, 5)
				r.note("a")
				f.arrive("a")
				r.leased("second")
				second, done := r.standby()
				pass(70 * time.Second)
				if second.Load() != nil {
					t.Fatal("the second process runs while the first one does")
				}
				began := time.Now()
				if c.how == "close" {
					f.close()
				} else {
					f.store.kill()
					r.ctl.Add(mssqltest.Rule{App: "store first", Drop: true})
				}
				<-done
				if took := time.Since(began); took > c.within || took < c.notAll {
					t.Errorf("the standby took over after %s", took)
				}
				r.insert("a", 21, 40, 5)
				r.note("a")
				g := second.Load()
				r.until(time.Minute, "the rest", func() bool { return len(g.of("a")) >= 20 })
				if d := difference(g.of("a"), r.truth["a"][20:]); d != "" {
					t.Error(d)
				}
				if c.how == "kill" {
					r.until(time.Minute, "the first has noticed", func() bool { return f.err() != nil })
					if !errors.Is(f.err(), checkpoint.ErrLeaseLost) {
						t.Errorf("the first process ended with %v", f.err())
					}
					f.abandon()
				}
			})
		})
	}
}

// A process stands still longer than its lease, and goes on when another one has taken over. Whatever it does then, it cannot
// save a position.
func TestPausedProcessCannotSave(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		r.leased("first")
		f := r.start()
		r.insert("a", 1, 20, 5)
		r.note("a")
		f.arrive("a")
		pass(2 * time.Second)
		release := f.block()
		defer release()
		// Nothing of the first process reaches the server for a minute, as if it were stopped.
		paused := r.ctl.Add(mssqltest.Rule{App: "store first", Delay: time.Minute})
		r.leased("second")
		second, done := r.standby()
		r.insert("a", 21, 40, 5)
		r.note("a")
		<-done
		g := second.Load()
		r.until(time.Minute, "the rest", func() bool { return len(g.of("a")) >= 20 })
		if d := difference(g.of("a"), r.truth["a"][20:]); d != "" {
			t.Error(d)
		}
		pass(3 * time.Second)
		saved := r.query("SELECT position FROM dbo.positions WHERE source_table = N'dbo.a'")[0][0]
		// It wakes up, acknowledges what it had, and tries to save.
		r.insert("a", 41, 45, 5)
		release()
		paused()
		err := f.store.Save(context.Background(), map[string]checkpoint.Position{"dbo.a": {Instance: "dbo_a", LSN: checkpoint.LSN{1}, Done: true}})
		if !errors.Is(err, checkpoint.ErrLeaseLost) {
			t.Errorf("a paused process saved: %v", err)
		}
		r.until(2*time.Minute, "the first has noticed", func() bool { return f.err() != nil })
		if !errors.Is(f.err(), checkpoint.ErrLeaseLost) {
			t.Errorf("it ended with %v", f.err())
		}
		f.abandon()
		r.note("a")
		r.until(time.Minute, "the last rows", func() bool { return len(g.of("a")) >= 25 })
		pass(3 * time.Second)
		now := r.query("SELECT position FROM dbo.positions WHERE source_table = N'dbo.a'")[0][0]
		p, err := checkpoint.ParsePosition(now)
		if err != nil || now == saved || p.LSN.String()[2:] != r.truth["a"][44][:20] {
			t.Errorf("saved is %s: %v", now, err)
		}
		if !slices.Equal(g.of("a"), r.truth["a"][20:]) {
			t.Error(difference(g.of("a"), r.truth["a"][20:]))
		}
	})
}

// The table of positions cannot be reached for a while: reading goes on, and what was acknowledged is saved later.
func TestStoreUnreachable(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		r.leased("first")
		f := r.start()
		pass(2 * time.Second)
		remove := r.ctl.Add(mssqltest.Rule{App: "store first", Cut: true})
		r.insert("a", 1, 20, 5)
		r.note("a")
		f.arrive("a")
		pass(10 * time.Second)
		remove()
		pass(5 * time.Second)
		p, err := checkpoint.ParsePosition(r.query("SELECT position FROM dbo.positions WHERE source_table = N'dbo.a'")[0][0])
		if err != nil || p.LSN.String()[2:] != r.truth["a"][19][:20] {
			t.Errorf("saved is %s, %v", p, err)
		}
	})
}
