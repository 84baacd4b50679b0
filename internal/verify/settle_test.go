package verify

import (
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// TestTargetThatFollowsIsEqual changes the source before it is read and the target later, while the comparison waits.
func TestTargetThatFollowsIsEqual(t *testing.T) {
	for _, kind := range []string{"chunks", "buckets"} {
		t.Run(kind, func(t *testing.T) {
			table := items
			if kind == "buckets" {
				table = strings.Replace(items, "PRIMARY KEY", "", 1)
			}
			rows := fill("dbo.items", 40, item)
			r := newRig(t, table+rows, table+rows).tables("dbo.items")
			r.conf.Settle = time.Hour
			change := "UPDATE dbo.items SET price = 1 WHERE id = 5; DELETE FROM dbo.items WHERE id = 6; INSERT INTO dbo.items VALUES (90, N'new', 1, NULL);"
			r.exec(r.src, change)
			reads := 0
			mark := "SELECT TOP (@n)"
			if kind == "buckets" {
				mark = "OPTION (MAXDOP 1)"
			}
			r.dst.Control().Add(mssqltest.Rule{Text: mark, Before: func(mssqltest.Event) {
				if reads++; reads == 2 { // the target has been read once
					if err := r.dst.Exec(change); err != nil {
						t.Error(err)
					}
				}
			}})
			wantRows(t, r.one())
			if reads < 2 {
				t.Errorf("the target was read %d times", reads)
			}
		})
	}
}

// TestOlderStateOfTheSourceDoesNotAgree has the target stand still at what the source had before the comparison began.
func TestOlderStateOfTheSourceDoesNotAgree(t *testing.T) {
	rows := fill("dbo.items", 5, item)
	r := newRig(t, items+rows, items+rows).tables("dbo.items")
	r.conf.Settle = quick
	r.exec(r.src, "UPDATE dbo.items SET price = 1 WHERE id = 5;")
	wantRows(t, r.one(), `differs {"id":5} price:"1.00"/"5.50"`)
}

// TestRowThatNeverRestsIsUnsettled changes a row of the source before each read of it; the target does not follow.
func TestRowThatNeverRestsIsUnsettled(t *testing.T) {
	rows := fill("dbo.items", 5, item)
	r := newRig(t, items+rows, items+rows).tables("dbo.items")
	r.conf.Settle = quick
	r.src.Control().Add(mssqltest.Rule{Text: "SELECT TOP (@n)", Before: func(mssqltest.Event) {
		if err := r.src.Exec("UPDATE dbo.items SET price = price + 1 WHERE id = 3;"); err != nil {
			t.Error(err)
		}
	}})
	got := r.one()
	if got.Unsettled != 1 || got.Differences != 0 || got.Equal || !strings.HasPrefix(got.Rows[0].text(), `unsettled {"id":3}`) {
		t.Errorf("%+v", got)
	}
	if v := r.run().Verdict(); v != Unknown {
		t.Errorf("verdict %v, want %v", v, Unknown)
	}
}
