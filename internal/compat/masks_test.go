package compat

import (
	"fmt"
	"strings"
	"testing"
)

// Masks of more than one byte: which columns an update changed is right for the first, the last and the ones at the ends of bytes.
func TestChangedColumnsOfWideTables(t *testing.T) {
	for _, n := range []int{9, 17, 65} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onStandIn(t, databaseOptions{}, func(r *rig) {
				var cols []string
				for i := 2; i <= n; i++ {
					cols = append(cols, fmt.Sprintf("c%d int NOT NULL DEFAULT 0", i))
				}
				r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, " + strings.Join(cols, ", ") + ")")
				r.enable("t")
				r.sql("INSERT dbo.t (id) VALUES (1)")
				var want []string
				for i := 2; i <= n; i++ {
					r.sql(fmt.Sprintf("UPDATE dbo.t SET c%d = 1", i))
					want = append(want, fmt.Sprintf(`["c%d"]`, i))
				}
				r.sql(fmt.Sprintf("UPDATE dbo.t SET c2 = 2, c8 = 2, c%d = 2", n))
				want = append(want, fmt.Sprintf(`["c2","c8","c%d"]`, n))
				r.scan()
				r.start("metadata: [changed_columns]\n")
				for i, m := range r.take(1 + len(want))[1:] {
					if got := text(m.meta, "changed_columns"); got != want[i] {
						t.Errorf("update %d: changed_columns %s, want %s", i+1, got, want[i])
					}
				}
			})
		})
	}
}

// redpanda-data/connect 4376b8aea: names changed their meaning; lsn was raw bytes. A ninth key would make a message twice as dear.
func TestMessagesHaveEightKeys(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v int)")
		r.enable("t")
		r.sql("INSERT dbo.t VALUES (1, 1), (2, 2)\nUPDATE dbo.t SET v = 3\nDELETE dbo.t")
		r.scan()
		r.start("")
		want := []string{"operation", "database_schema", "table", "lsn", "commit_ts_ms", "event_id", "key", "schema"}
		events, last := map[string]bool{}, ""
		for _, m := range r.take(6) {
			for _, k := range want {
				if _, ok := m.meta[k]; !ok {
					t.Errorf("%s has no %s", m, k)
				}
			}
			if len(m.meta) != len(want) {
				t.Errorf("%s has %d keys, want %d: %v", m, len(m.meta), len(want), m.meta)
			}
			lsn := text(m.meta, "lsn")
			if len(lsn) != 22 || strings.Trim(lsn, "0123456789abcdefx") != "" {
				t.Errorf("lsn is %q", lsn)
			}
			id := text(m.meta, "event_id")
			if events[id] || id <= last {
				t.Errorf("event_id %s comes twice or not in order", id)
			}
			events[id], last = true, id
		}
	})
}
