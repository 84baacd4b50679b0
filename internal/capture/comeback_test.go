package capture

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// A table is enabled anew while others stream without a pause, so that under ordering global there is always something that is
// not acknowledged. It is looked at all the same, and what was lost in between is told.
func TestTableComesBackUnderLoad(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b")
			r.insert("a", 1, 5, 5)
			r.scan()
			f, err := Start(context.Background(), r.cfg)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				var held *Batch
				for {
					b, err := f.Next(context.Background())
					if err != nil {
						break
					}
					if held != nil {
						held.Ack(nil)
					}
					held = b
				}
				if held != nil {
					held.Ack(nil)
				}
			}()
			load := func(from, n int) {
				for i := range n {
					r.insert("b", from+i, from+i, 1)
					pass(100 * time.Millisecond)
				}
			}
			load(1, 10)
			r.disable("a", "dbo_a")
			load(20, 20)
			r.enable("a", "dbo_again")
			r.insert("a", 6, 8, 3)
			load(100, 100)
			state, cause := r.seen.is("a")
			var gap *changetable.GapError
			if !errors.As(cause, &gap) || gap.Instance != "dbo_again" {
				t.Errorf("a is %s: %v; want the gap between its instances", state, cause)
			}
			if err := f.Close(context.Background()); err != nil {
				t.Error(err)
			}
			<-done
		})
	})
}
