package capture

import (
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

func TestFlowStreams(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "b")
		r.insert("a", 1, 50, 7)
		f := r.start()
		r.insert("b", 1, 30, 1)
		r.exec("UPDATE dbo.a SET v = v + 1 WHERE id <= 40; DELETE dbo.a WHERE id > 45")
		r.note("a", "b")
		f.arrive("a", "b")
		pass(2 * time.Second)
		f.close()
	})
}
