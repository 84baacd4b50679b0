package mssqlcdc

import (
	"fmt"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// The end of a snapshot removes nothing while rows of it are held back, in the same batch or in one before.
func TestBulkOnceSnapshotEndWaits(t *testing.T) {
	for _, together := range []bool{true, false} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(ghosts)
			fields := missing + "\nexactly_once: {enabled: true}"
			part := func(what ...string) service.MessageBatch {
				b := snapshotOf("a", what...)
				for i, m := range b {
					m.MetaSetMut("database_schema", "dbo")
					m.MetaSetMut("table", "src")
					m.MetaSetMut("event_id", fmt.Sprintf("0x%020x-read-%d", 7, i))
				}
				return b
			}
			out := r.start(fields)
			out.refuses(part("begin", "read 1"), nil)
			other := r.start(fields)
			other.refuses(part("read 1"), nil) // takes the lane over
			rest, end := part("read 2", "read 3"), part("end")
			if together {
				out.refuses(append(rest, end...), map[int][]string{0: {"another writer"}, 1: {"another writer"}, 2: {"waits"}})
			} else {
				out.refuses(rest, map[int][]string{0: {"another writer"}, 1: {"another writer"}})
				out.refuses(end, map[int][]string{0: {"waits"}})
			}
			r.want(allOfT, "1|new", "2|old", "3|old", "4|old")
			out.refuses(append(part("read 2", "read 3"), part("end")...), nil)
			r.want(allOfT, "1|new", "2|new", "3|new")
		})
	}
}
