package capture

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// A table that stands still after a refusal holds nothing of checkpoint_limit: the others go on.
func TestTableThatStandsStillLeavesRoom(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.Limit, r.cfg.StopOnRefusal = 20, true
		r.tables("a", "b")
		r.insert("a", 1, 100, 10)
		r.scan()
		f, err := Start(context.Background(), r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		var of []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				b, err := f.Next(context.Background())
				if err != nil {
					return
				}
				of = append(of, b.Runs[0].Table.Name.Object)
				if len(of) == 1 {
					pass(time.Second) // the limit is used up
					b.Ack(errors.New("refused"))
					continue
				}
				b.Ack(nil)
			}
		}()
		r.until(10*time.Second, "stopped", func() bool { s, _ := r.seen.is("a"); return s == Stopped })
		r.insert("b", 1, 60, 10)
		pass(10 * time.Second)
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
		<-done
		if len(of) != 7 || of[0] != "a" || of[1] != "b" {
			t.Errorf("batches of %q, want one of a and six of b", of)
		}
	})
}
