package mssqlcdc

import (
	"errors"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// An output that gathers a number of messages, without a period, answers what it holds only when more comes. After a refusal
// the input gives out again after ten seconds, whatever it waits for, and the answers to the earlier deliveries do not count.
func TestRefusalDoesNotWaitForEver(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("t", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.t VALUES (1), (2), (3)")
		run := r.start("batching: {count: 1}")
		_, first := run.read()
		_, second := run.read()
		held, third := run.read()
		if text := newCDCMessages(t, held)[0].text("key"); text != `{"id":3}` {
			t.Fatalf("the third batch has %s", text)
		}
		first(nil)
		second(errors.New("refused"))
		run.nothing(9 * time.Second)
		began := time.Now()
		again, ackSecond := run.read()
		if key := newCDCMessages(t, again)[0].text("key"); key != `{"id":2}` || time.Since(began) > 2*time.Second {
			t.Fatalf("after ten seconds came %s, after %s more", key, time.Since(began))
		}
		third(errors.New("too late")) // must not turn the lane back once more
		_, ackThird := run.read()
		ackSecond(nil)
		ackThird(nil)
		run.nothing(cdcQuiet)
		r.sql("INSERT dbo.t VALUES (4)")
		if key := run.one().text("key"); key != `{"id":4}` {
			t.Fatalf("then came %s", key)
		}
	})
}
