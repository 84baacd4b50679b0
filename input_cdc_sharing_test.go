package mssqlcdc

import (
	"errors"
	"fmt"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// What is done to one message downstream is not seen in another, of the same batch or of the same change given out again.
func TestCDCMessagesShareNothing(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL, note nvarchar(max) NULL")
		r.sql("INSERT dbo.k VALUES (1, 1, N'a'), (2, 1, N'b'), (3, 1, N'c'); UPDATE dbo.k SET v = 2")
		fields := "before_image: metadata\nmetadata: [" + "changed_columns, seqval, transaction_id" + "]"
		run := r.start(fields)
		batch, ack := run.read()
		untouched := fmt.Sprint(newCDCMessages(t, batch))
		metas := func() (out []string) {
			for _, m := range newCDCMessages(t, batch) {
				out = append(out, fmt.Sprint(m.body, m.meta))
			}
			return out
		}
		before := metas()
		for i, m := range batch {
			spoil(t, m, i)
			after := metas()
			for j := i + 1; j < len(batch); j++ {
				if after[j] != before[j] {
					t.Fatalf("spoiling message %d changed message %d from\n%s\nto\n%s", i, j, before[j], after[j])
				}
			}
		}
		ack(errors.New("refused"))
		batch, ack = run.read()
		ack(nil)
		if got := fmt.Sprint(newCDCMessages(t, batch)); got != untouched {
			t.Errorf("given out again: %s, want %s", got, untouched)
		}
		if after := metas(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("given out again: %s, want %s", after, before)
		}
	})
}
