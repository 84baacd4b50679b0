package mssqlcdc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// broken makes a table whose next change cannot be read, beside one that can be.
func broken(r *cdcRig) {
	r.t.Helper()
	r.table("bad", "id int NOT NULL PRIMARY KEY, note nvarchar(20) NULL")
	r.table("good", "id int NOT NULL PRIMARY KEY")
	r.sql("INSERT dbo.bad VALUES (1, N'a' + NCHAR(0xD83D) + N'b')") // a lone surrogate
	r.sql("INSERT dbo.good VALUES (1)")
}

// Under ordering global the line does not say that the others go on.
func TestCDCOnTableErrorParkUnderGlobalOrder(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		broken(r)
		run := r.start("ordering: global")
		run.nothing(cdcQuiet)
		run.logs("table dbo.bad is parked and tried again from time to time; under ordering global the others wait for it")
	})
}

// A table that cannot go on is parked while the others go on, with one line that says why, and is tried again.
func TestCDCOnTableErrorPark(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		broken(r)
		run := r.start("poll_interval: 2s")
		if m := run.one(); m.text("table") != "good" {
			t.Fatalf("got %v", m)
		}
		run.logs("table dbo.bad is parked")
		for _, want := range []string{"note", "ERROR"} {
			if run.log.count(want) == 0 {
				t.Errorf("the log does not have %q:\n%s", want, run.log)
			}
		}
		run.nothing(10 * time.Minute)
		if n := run.log.count("is parked"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, run.log)
		}
		if got := run.metrics.get("mssql_cdc_table_state", "dbo.bad"); got != 3 {
			t.Errorf("the table's state is %v, want 3", got)
		}
		r.sql("INSERT dbo.good VALUES (2)")
		run.one().want(t, "insert", `{"id":2}`)
	})
}

// on_table_error: stop ends the input.
func TestCDCOnTableErrorStop(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		broken(r)
		run := r.start("on_table_error: stop")
		ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
		defer cancel()
		for {
			_, ack, err := run.input.ReadBatch(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the input goes on:\n%s", run.log)
			}
			if err != nil {
				break
			}
			if err := ack(ctx, nil); err != nil {
				t.Error(err)
			}
		}
		if run.log.count("on_table_error is stop") != 1 || run.log.count("dbo.bad") == 0 {
			t.Errorf("the log does not say why:\n%s", run.log)
		}
	})
}

// on_invalid_text: replace gives U+FFFD in the place of what is not Unicode, and leaves the rest and real U+FFFD alone.
func TestCDCOnInvalidText(t *testing.T) {
	const values = "(1, N'a' + NCHAR(0xD83D) + N'b'), (2, N'😀' + NCHAR(0xDE00)), (3, NCHAR(0xFFFD) + N'é')"
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
		r.sql("INSERT dbo.a VALUES " + values)
		wantTexts(t, "bodies", bodies(r.start("on_invalid_text: replace").take(3)), `{"id":1,"v":"a`+"\uFFFD"+`b"}`, `{"id":2,"v":"😀`+"\uFFFD"+`"}`, `{"id":3,"v":"`+"\uFFFD"+`é"}`)
	})
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
		r.sql("INSERT dbo.a VALUES (3, NCHAR(0xFFFD) + N'é')") // U+FFFD itself is text like any other
		run := r.start("on_invalid_text: error")
		run.one().want(t, "insert", `{"id":3,"v":"`+"\uFFFD"+`é"}`)
		r.sql("INSERT dbo.a VALUES (4, NCHAR(0xDC00))")
		run.nothing(cdcQuiet)
		if run.log.count("column v") == 0 {
			t.Errorf("the log does not name the column:\n%s", run.log)
		}
	})
}

// auto_replay_nacks: false stops a table with its first refused batch; true gives it out again.
func TestCDCAutoReplayNacks(t *testing.T) {
	for _, replay := range []bool{true, false} {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("a", "id int NOT NULL PRIMARY KEY")
			r.table("b", "id int NOT NULL PRIMARY KEY")
			r.sql("INSERT dbo.a VALUES (1)")
			fields := map[bool]string{true: "auto_replay_nacks: true", false: "auto_replay_nacks: false"}[replay]
			run := r.start(fields)
			batch, answer := run.read()
			before := newCDCMessages(t, batch)
			answer(errors.New("the sink is full"))
			if replay {
				wantTexts(t, "given out again", bodies(run.batch()), bodies(before)...)
				if got := run.metrics.get("mssql_cdc_redelivered_changes", "dbo.a"); got != 1 {
					t.Errorf("%v changes were redelivered, want 1", got)
				}
				return
			}
			r.sql("INSERT dbo.a VALUES (2)")
			run.nothing(cdcQuiet)
			if run.log.count("dbo.a stands still") != 1 || run.log.count("the sink is full") == 0 {
				t.Errorf("the log does not say why:\n%s", run.log)
			}
			if got := run.metrics.get("mssql_cdc_table_state", "dbo.a"); got != 4 {
				t.Errorf("the table's state is %v, want 4", got)
			}
			r.sql("INSERT dbo.b VALUES (9)")
			run.one().want(t, "insert", `{"id":9}`)
			run.stop()
			wantTexts(t, "after a restart", bodies(r.start(fields).take(2)), `{"id":1}`, `{"id":2}`)
		})
	}
}

// A position that cleanup has passed parks its table, and the log has the way out.
func TestCDCGapParks(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.a VALUES (1)")
		first := r.start("")
		first.one()
		first.stop()
		for _, id := range []string{"2", "3"} {
			pass(time.Second)
			r.sql("INSERT dbo.a VALUES (" + id + ")")
		}
		pass(time.Second)
		last := r.cell("SELECT TOP (1) CONVERT(varchar(30), __$start_lsn, 1) FROM cdc.dbo_a_CT ORDER BY __$start_lsn DESC")
		if err := r.ctl.Cleanup("", "dbo_a", last, 100); err != nil {
			t.Fatal(err)
		}
		run := r.start("")
		run.nothing(cdcQuiet)
		if !strings.Contains(run.log.String(), "sp_cdc_change_job") || run.log.count("dbo.a is parked") != 1 {
			t.Errorf("the log does not say what to do:\n%s", run.log)
		}
	})
}
