package mssqlcdc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// component makes the input itself, without Benthos around it.
func (r *cdcRig) component(fields string) service.BatchInput {
	r.t.Helper()
	conf, err := cdcSpec().ParseYAML("connection_string: '"+r.dsn()+"'\ncheckpoint_file: '"+r.file+"'\n"+fields, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	in, err := newCDCInput(conf, service.MockResources())
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// Closing takes less than a second wherever the input is, and leaves nothing open. A server that does not answer has two
// seconds to confirm that a request is given up, and ten to take the last positions.
func TestCDCClosesAtOnce(t *testing.T) {
	hang := func(text string) func(*cdcRig) {
		return func(r *cdcRig) { r.ctl.Add(mssqltest.Rule{Text: text, Drop: true}) }
	}
	tests := []struct {
		name, fields string
		block        func(*cdcRig)
		within       time.Duration // 0 = a second
	}{
		{"idle", "", nil, 0},
		{"between polls", "poll_interval: 1h", nil, 0},
		{"connecting", "", func(r *cdcRig) { r.ctl.Add(mssqltest.Rule{Kind: "login", Drop: true}) }, 0},
		{"checking", "", hang("sys.databases"), 0},
		{"watching the watermark", "", func(r *cdcRig) {
			r.ctl.Add(mssqltest.Rule{Text: "ORDER BY m.start_lsn DESC", Skip: 5, Drop: true})
		}, 2 * time.Second},
		{"reading", "", hang("_CT]"), 2 * time.Second},
		{"reading slowly", "", func(r *cdcRig) { r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "_CT]", Delay: time.Hour}) }, 2 * time.Second},
		{"reconnecting", "", func(r *cdcRig) { r.ctl.Add(mssqltest.Rule{Cut: true, Skip: 12}) }, 0},
		{"with everything unanswered", "checkpoint_limit: 10\nbatching: {count: 10}", nil, 0},
		{"taking the lease", "checkpoint_cache_table_name: dbo.positions", hang("[dbo].[positions]"), 2 * time.Second},
		{"saving", "checkpoint_cache_table_name: dbo.positions", func(r *cdcRig) {
			r.ctl.Add(mssqltest.Rule{Text: "UPDATE", Skip: 3, Drop: true})
		}, closeBound + 3*time.Second},
		{"ordering global", "ordering: global", hang("_CT]"), 2 * time.Second},
		{"parked", "", func(r *cdcRig) { r.ctl.Add(mssqltest.Rule{Text: "_CT]", Error: 50000}) }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
				r.sql("INSERT dbo.a VALUES " + rows(1, 50))
				if tt.block != nil {
					tt.block(r)
				}
				run := r.start(tt.fields)
				ctx, cancel := context.WithTimeout(context.Background(), 7*time.Second)
				defer cancel()
				for {
					_, ack, err := run.input.ReadBatch(ctx)
					if err != nil {
						break
					}
					if tt.name == "with everything unanswered" {
						run.out = append(run.out, &cdcDelivery{ack: ack})
					} else if err := ack(ctx, nil); err != nil {
						t.Error(err)
					}
				}
				if d := run.stop(); tt.within == 0 && d >= time.Second || tt.within > 0 && d > tt.within {
					t.Errorf("closing took %s\n%s", d, run.log)
				}
				if run.log.count("context canceled") > 0 {
					t.Errorf("the end is logged as an error:\n%s", run.log)
				}
				pass(5 * time.Second) // requests that were given up are cut after a moment
				synctest.Wait()
				if n := r.ctl.OpenTransactions(); n > 0 {
					t.Errorf("%d transactions are open", n)
				}
				if l := r.ctl.Locks(); len(l) > 0 {
					t.Errorf("locks are left: %v", l)
				}
				for _, c := range r.ctl.Connections() {
					if c.SPID != 0 { // the stand-in keeps a login that it has dropped
						t.Errorf("a connection is left: %v", c)
					}
				}
			})
		})
	}
}

// A standby that waits for the lease closes at once, too.
func TestCDCStandbyClosesAtOnce(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		const fields = "checkpoint_cache_table_name: dbo.positions"
		first := r.start(fields)
		first.nothing(cdcQuiet)
		second := r.start(fields)
		second.nothing(cdcQuiet)
		second.logs("waits as a standby")
		if d := second.stop(); d >= time.Second {
			t.Errorf("closing took %s", d)
		}
		third := r.start(fields)
		third.nothing(cdcQuiet)
		first.stop()
		r.sql("INSERT dbo.a VALUES (1)")
		third.one().want(t, "insert", `{"id":1}`)
	})
}

func TestCDCConnectTwice(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		in := r.component("")
		both := make(chan error, 2)
		for range 2 {
			go func() { both <- in.Connect(t.Context()) }()
		}
		for range 2 {
			if err := <-both; err != nil {
				t.Error(err)
			}
		}
		if err := in.Connect(t.Context()); err != nil {
			t.Error(err)
		}
		r.sql("INSERT dbo.a VALUES (1)")
		batch, ack, err := in.ReadBatch(t.Context())
		if err != nil || len(batch) != 1 {
			t.Fatalf("%d messages and %v", len(batch), err)
		}
		if err := ack(t.Context(), nil); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := in.Close(t.Context()); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		if _, _, err := in.ReadBatch(t.Context()); !errors.Is(err, service.ErrNotConnected) {
			t.Errorf("reading after the end gives %v", err)
		}
	})
}

func TestCDCConnectCancelled(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		in := r.component("")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := in.Connect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("connecting with a cancelled context gives %v", err)
		}
		// And in the middle of it.
		remove := r.ctl.Add(mssqltest.Rule{Kind: "login", Drop: true})
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := in.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("connecting to a server that says nothing gives %v", err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("it took %s", d)
		}
		remove()
		// The context of Connect is for connecting only.
		ctx, cancel = context.WithCancel(t.Context())
		if err := in.Connect(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		r.sql("INSERT dbo.a VALUES (1)")
		if batch, _, err := in.ReadBatch(t.Context()); err != nil || len(batch) != 1 {
			t.Errorf("%d messages and %v", len(batch), err)
		}
		if err := in.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
