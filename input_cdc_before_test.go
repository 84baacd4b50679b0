package mssqlcdc

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// The two rows of an update stay together wherever a batch ends, also inside of a transaction and with several tables in one
// batch.
func TestCDCBeforeImagesAtTheEndsOfBatches(t *testing.T) {
	for _, ordering := range []string{"table", "global"} {
		for _, count := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(ordering, " ", count), func(t *testing.T) {
				onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
					r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
					r.table("b", "id int NOT NULL PRIMARY KEY, v int NULL")
					r.sql("INSERT dbo.a VALUES " + rows(1, 3) + "; INSERT dbo.b VALUES " + rows(1, 3))
					r.sql("BEGIN TRANSACTION; UPDATE dbo.a SET v = v + 100; UPDATE dbo.b SET v = v + 100; UPDATE dbo.a SET v = v + 100 WHERE id = 2; DELETE dbo.b WHERE id = 3; COMMIT")
					config := fmt.Sprintf("ordering: %s\nbatching: {count: %d}\ncheckpoint_limit: 1000\nbefore_image: ", ordering, count)
					seen := 0
					for _, m := range r.start(config + "metadata").take(14) {
						if m.text("operation") != "update" {
							continue
						}
						seen++
						before, _ := m.meta["before"].(map[string]any)
						_, row := fields(t, m.body)
						if want := before100(t, row["v"]); fmt.Sprint(before["v"]) != want || fmt.Sprint(before["id"]) != row["id"] {
							t.Errorf("%v has the before image %v", m, before)
						}
					}
					if seen != 7 {
						t.Errorf("%d updates, want 7", seen)
					}
					var pending *cdcMessage
					run := r.start("checkpoint_file: " + r.file + "2\n" + config + "message")
					for n := 0; n < 21; {
						batch := run.batch()
						n += len(batch)
						for _, m := range batch {
							switch op := m.text("operation"); {
							case pending != nil && (op != "update_after" || m.text("key") != pending.text("key") || m.text("table") != pending.text("table")):
								t.Errorf("%v follows %v", m, pending)
							case pending == nil && op == "update_after":
								t.Errorf("%v has no first half", m)
							}
							pending = nil
							if strings.HasSuffix(m.text("operation"), "_before") {
								pending = m
							}
						}
						if pending != nil {
							t.Errorf("a batch ends with %v", pending)
						}
					}
				})
			})
		}
	}
}

// before100 is a number less 100, as text.
func before100(t *testing.T, v string) string {
	t.Helper()
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(n - 100)
}
