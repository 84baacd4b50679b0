package capture

import (
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// A table that was level when its new instance began has only an update of the column that the new instance alone captures.
// The older instance has nothing of it, and must not be believed.
func TestHandoverOfAQuietTable(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.cfg.PollInterval = 2 * time.Second
			r.tables("a", "b")
			r.insert("a", 1, 3, 3)
			r.exec("ALTER TABLE dbo.a ADD w int NULL")
			r.note("a")
			f := r.start()
			f.arrive("a")
			r.insert("b", 1, 1, 1)
			r.note("b")
			f.arrive("b")
			pass(r.cfg.PollInterval + 100*time.Millisecond) // a is level, and the next poll is far enough
			r.enable("a", "dbo_a2")
			r.exec("UPDATE dbo.a SET w = 7 WHERE id = 2")
			r.scan()
			if old, now := len(r.changes("dbo_a", false)), len(r.changes("dbo_a2", false)); old != 3 || now != 2 {
				t.Fatalf("the instances have %d and %d changes, want 3 and 2", old, now)
			}
			r.truth["a"] = append(r.truth["a"], r.changes("dbo_a2", false)...)
			f.arrive("a")
		})
	})
}
