package capture

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/mssqltest"
)

// start_from in all its forms, on a server whose clock is nine hours ahead of UTC.
func TestStartFrom(t *testing.T) {
	tokyo := time.FixedZone("", 9*60*60)
	for _, zone := range []*time.Location{time.UTC, tokyo} {
		for _, c := range []struct {
			name string
			from func(r *rig, at []time.Time) string
			want int // the first change that comes, -1: none
		}{
			{"earliest", func(*rig, []time.Time) string { return "earliest" }, 0},
			{"latest", func(*rig, []time.Time) string { return "latest" }, -1},
			{"LSN", func(r *rig, _ []time.Time) string { return r.lsns("dbo_a")[2] }, 15},
			{"time of a commit", func(_ *rig, at []time.Time) string { return at[3].Format(time.RFC3339Nano) }, 15},
			{"time of a commit, other zone", func(_ *rig, at []time.Time) string { return at[3].In(tokyo).Format(time.RFC3339Nano) }, 15},
			{"time between commits", func(_ *rig, at []time.Time) string { return at[3].Add(time.Second).Format(time.RFC3339) }, 20},
			{"time before everything", func(*rig, []time.Time) string { return "1999-01-01T00:00:00Z" }, 0},
			{"time after everything", func(*rig, []time.Time) string { return "2030-01-01T00:00:00Z" }, -1},
		} {
			t.Run(zone.String()+"/"+c.name, func(t *testing.T) {
				bubble(t, mssqltest.Config{Location: zone}, func(r *rig) {
					r.tables("a")
					var at []time.Time
					for i := range 6 {
						pass(time.Minute)
						r.insert("a", 5*i, 5*i+4, 5)
						at = append(at, time.Now())
					}
					r.note("a")
					from, err := ParseStartFrom(c.from(r, at))
					if err != nil {
						t.Fatal(err)
					}
					r.cfg.Start = from
					f := r.start()
					pass(5 * time.Second)
					r.insert("a", 100, 104, 5)
					r.note("a")
					if c.want < 0 {
						c.want = 30
					}
					r.truth["a"] = r.truth["a"][c.want:]
					f.arrive("a")
					pass(time.Second)
					f.arrive("a")
				})
			})
		}
	}
}

// A table whose only instance begins above the watermark of the start has nothing before it, so latest begins with its first
// change.
func TestLatestOfAnInstanceThatWasNotHandled(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.Start = StartFrom{Latest: true}
		r.tables("a")
		r.insert("a", 1, 5, 5)
		synctest.Wait()
		if err := r.ctl.CaptureStop(""); err != nil {
			t.Fatal(err)
		}
		r.tables("b")
		f := r.start()
		pass(time.Second)
		r.insert("b", 1, 5, 5)
		if err := r.ctl.CaptureStart(""); err != nil {
			t.Fatal(err)
		}
		r.note("b")
		f.arrive("b")
		if got := f.of("a"); len(got) != 0 {
			t.Errorf("changes of before the start came: %q", got)
		}
	})
}

// A pattern that matches nothing is refused, and so is a database without CDC; nothing is left open.
func TestStartRefuses(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		if _, err := r.tryStart(context.Background()); err == nil || !strings.Contains(err.Error(), "sp_cdc_enable_db") {
			t.Errorf("a database without CDC: %v", err)
		}
		r.tables("a")
		m, err := catalog.NewMatcher([]string{`dbo\.nothing`}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := r.cfg.Tables
		r.cfg.Tables = m
		if _, err := r.tryStart(context.Background()); err == nil || !strings.Contains(err.Error(), "matches no table") {
			t.Errorf("a pattern that matches nothing: %v", err)
		}
		r.cfg.Tables = all
		r.setDown(true)
		if _, err := r.tryStart(context.Background()); err == nil {
			t.Error("a flow has started without a server")
		}
		synctest.Wait()
		if n := len(r.ctl.Connections()); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

// on_table_error: stop ends the flow with the table's error.
func TestStopOnTableError(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global, r.cfg.StopOnTableError = global, true
			r.tables("a", "b")
			r.insert("a", 1, 5, 5)
			r.note("a")
			f := r.start()
			f.arriveAll("a")
			pass(2 * time.Second)
			f.close()
			r.insert("a", 6, 10, 5)
			r.insert("b", 1, 5, 5)
			r.scan()
			r.cleanup("dbo_a", r.lsns("dbo_b")[0])
			g := r.start()
			r.until(time.Minute, "the end", func() bool { return g.err() != nil })
			var gap *changetable.GapError
			if err := g.err(); !errors.Is(err, ErrTable) || !errors.As(err, &gap) {
				t.Errorf("it ended with %v", err)
			}
		})
	})
}

// auto_replay_nacks: false: a refused batch stops its table, and the others go on. After a restart it comes again.
func TestStopOnRefusal(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.StopOnRefusal = true
		r.tables("a", "b")
		f := r.start()
		f.set(func() {
			f.decide = func(b *Batch) error {
				if b.Runs[0].Table.Name.Object == "a" {
					return errors.New("refused")
				}
				return nil
			}
		})
		r.insert("a", 1, 30, 5)
		r.insert("b", 1, 30, 5)
		r.note("a", "b")
		f.arrive("b")
		pass(20 * time.Second)
		if s, err := r.seen.is("a"); s != Stopped || err == nil {
			t.Errorf("a is %s: %v", s, err)
		}
		before := len(f.of("a"))
		r.insert("a", 31, 40, 5)
		r.insert("b", 31, 40, 5)
		r.note("a", "b")
		f.arrive("b")
		if got := f.of("a"); len(got) != before || !slices.Equal(got, r.truth["a"][:before]) {
			t.Errorf("%d changes of a came after the refusal", len(got)-before)
		}
		f.close()
		r.start().arrive("a")
	})
}
