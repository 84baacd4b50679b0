package mssqlcdc

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// cdcFault is what goes wrong in one life of the input.
type cdcFault struct {
	cut    *wireCut        // the connection breaks
	rule   *mssqltest.Rule // the server refuses
	fields string          // of the input, besides those that every run has
}

// run takes a snapshot of a table and of one without a key, and reads changes of both, under the fault. What has a key comes once
// and in order, in spite of it; a table without one may be read twice, and then all of it. It gives what went over the wire.
func (f cdcFault) run(t *testing.T) *wire {
	t.Helper()
	w := &wire{cut: wireCut{packet: -1}}
	if f.cut != nil {
		w.cut = *f.cut
	}
	var acted atomic.Int64
	onSnapshot(t, 20, func(t *testing.T, r *cdcRig) {
		r.wire = w
		r.table("h", "a int NULL")
		r.sql("INSERT dbo.h VALUES (1), (1), (2)")
		pass(time.Second)
		if f.rule != nil {
			rule := *f.rule
			rule.Match, rule.Before = func(e mssqltest.Event) bool { return e.App != "" }, func(mssqltest.Event) { acted.Add(1) }
			r.ctl.Add(rule)
		}
		before := len(r.eventIDs("k"))
		run := r.start(faultFields + "\n" + f.fields)
		var reads, changes []string // of k
		heap := map[string]int{}
		take := func(what string, enough func() bool) {
			t.Helper()
			for n := 0; !enough(); n++ {
				if n > 1000 {
					t.Fatalf("%s did not come\nlog:\n%s", what, run.log)
				}
				for _, m := range run.batch() {
					switch op := m.text("operation"); {
					case m.text("table") == "h":
						heap[m.body]++
					case op == "read":
						reads = append(reads, m.body)
					default:
						changes = append(changes, m.text("event_id"))
					}
				}
			}
		}
		take("the rows", func() bool { return len(reads) >= 20 && heap[`{"a":1}`] >= 2 && heap[`{"a":2}`] >= 1 })
		for id := 30; id < 48; id += 3 {
			r.sql(fmt.Sprintf("INSERT dbo.k (id, v) VALUES (%d, N'a'), (%d, N'b'); UPDATE dbo.k SET v = N'c' WHERE id %% 7 = %d %% 7; DELETE dbo.k WHERE id = %d; INSERT dbo.h VALUES (%d)", id, id+1, id, id-2, id))
			pass(300 * time.Millisecond)
		}
		truth := r.eventIDs("k")[before:]
		take("the changes", func() bool { return len(changes) >= len(truth) && heap[`{"a":45}`] > 0 })
		wantTexts(t, "changes", changes, truth...)
		for i, body := range reads {
			if want := fmt.Sprintf(`{"id":%d,"v":"old"}`, i+1); body != want {
				t.Errorf("row %d that was read is %s, want %s", i+1, body, want)
			}
		}
		for id := 30; id < 48; id += 3 {
			if n := heap[fmt.Sprintf(`{"a":%d}`, id)]; n != 1 {
				t.Errorf("change %d of the table without a key came %d times", id, n)
			}
		}
		run.until("the positions are saved", func() bool {
			return r.cell("SELECT COUNT(*) FROM dbo.positions WHERE source_table <> N'' AND position NOT LIKE N'%snapshot%'") == "2"
		})
		run.stop()
		if n := r.ctl.OpenTransactions(); n != 0 {
			t.Errorf("%d transactions are open at the end", n)
		}
		if locks := r.ctl.Locks(); len(locks) != 0 {
			t.Errorf("locks are left: %v", locks)
		}
		again := r.start(faultFields)
		r.sql("INSERT dbo.k (id, v) VALUES (222, N'again')")
		got := bodies(again.drains(cdcQuiet))
		if !slices.Contains(got, `{"id":222,"v":"again"}`) || slices.ContainsFunc(got, func(b string) bool { return strings.Contains(b, `"old"`) }) {
			t.Errorf("after a restart came %s\nlog:\n%s", got, again.log)
		}
	})
	if f.cut != nil && w.acted == "" && !t.Failed() {
		t.Skipf("this run had %d packets only", len(w.steps)) // goroutines decide about a few
	}
	if f.rule != nil && acted.Load() == 0 && !t.Failed() {
		t.Skip("this run had fewer messages")
	}
	return w
}

// eventIDs are the event_id of the changes of a table, in their order, as the server has them; the old rows of updates have none.
func (r *cdcRig) eventIDs(table string) (out []string) {
	r.t.Helper()
	rows, err := r.srv.Query(`SELECT LOWER(CONVERT(varchar(30), t.__$start_lsn, 2)), t.__$command_id, LOWER(CONVERT(varchar(30), t.__$seqval, 2)), t.__$operation
FROM cdc.dbo_` + table + `_CT AS t WHERE t.__$operation <> 3 ORDER BY t.__$start_lsn, t.__$command_id, t.__$seqval, t.__$operation`)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		var command int
		if _, err := fmt.Sscan(row[1], &command); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s-%08x-%s-%s", row[0], command, row[2], row[3]))
	}
	return out
}

// thinned tells whether a case of a matrix is left out: with MSSQLCDC_LONG=1 none, with CI=true all but one in ci, else all but one
// in few.
func thinned(i, ci, few int) bool {
	switch {
	case os.Getenv("MSSQLCDC_LONG") != "":
		return false
	case os.Getenv("CI") == "true":
		return i%ci != 0
	}
	return i%few != 0
}

// The connection breaks at every packet, sent or received, of logins, polls, pages, a snapshot's chunks, and the saving of
// positions: before the packet, in its header, and in its middle; as an end and as a reset. What was cut is printed by
//
//	CI=true go test -count=1 -v -run TestInputCutAtEveryPacket .
func TestInputCutAtEveryPacket(t *testing.T) {
	for g, fields := range []string{"ordering: table", "ordering: global\nraw_tds: off"} { // past the driver, and through it
		t.Run(strings.ReplaceAll(fields, "\n", ", "), func(t *testing.T) {
			whole := cdcFault{fields: fields}.run(t)
			n, text := whole.counts()
			for _, step := range []string{"login", "poll", "page", "after page", "chunk bound", "chunk or page", "keyless lock", "keyless pass", "lease", "save"} {
				if n["sent "+step] == 0 || n["received "+step] == 0 {
					t.Fatalf("no packet of step %q:\n%s", step, text)
				}
			}
			for i := range len(whole.steps) * wireParts {
				cut := wireCut{packet: i / wireParts, part: i % wireParts, reset: i%2 == 0}
				if os.Getenv("MSSQLCDC_LONG") == "" && (cut.part != cut.packet%wireParts || thinned(cut.packet, 1+5*g, 61)) {
					continue
				}
				t.Run(fmt.Sprintf("%+v", cut), func(t *testing.T) {
					t.Parallel()
					w := cdcFault{cut: &cut, fields: fields}.run(t)
					t.Logf("cut: %s", w.acted)
				})
			}
			t.Logf("%d packets in all:\n%s", len(whole.steps), text)
		})
	}
}

// transientNumbers are the errors that pass, with those that end the connection last.
var transientNumbers = []int32{
	1205, 1222, 601, 3960, 3961, 3947, 1219, 1204, 701, 8645, 976, 983, 9002, 40197, 40501, 40613, 49918, 49919, 49920, 10928, 10929,
	10053, 10054, 233, 64,
}

// transientRule answers with number i of transientNumbers, whose text leaves the number out as the server's do.
func transientRule(i int) mssqltest.Rule {
	r := mssqltest.Rule{Error: transientNumbers[i], ErrorMessage: "A fault of the test."}
	if i >= slices.Index(transientNumbers, 10053) {
		r.Class = 20
	}
	return r
}

// The server answers each message of a run with each error that passes.
func TestInputEveryTransientErrorAtEveryMessage(t *testing.T) {
	messages := 0
	for _, s := range (cdcFault{}).run(t).steps {
		if strings.HasPrefix(s, "sent ") {
			messages++
		}
	}
	for n := range messages {
		for i, number := range transientNumbers {
			if thinned(n+i*7, 25, 401) {
				continue
			}
			t.Run(fmt.Sprintf("message %d error %d", n, number), func(t *testing.T) {
				t.Parallel()
				rule := transientRule(i)
				rule.Skip, rule.Times = n, 1
				cdcFault{rule: &rule, fields: []string{"raw_tds: auto", "raw_tds: off"}[n%2]}.run(t)
			})
		}
	}
}

// cdcSteps are what the input asks of a server, by a part of its text, and what a log line names it by.
var cdcSteps = []struct{ name, kind, text, named string }{
	{"login", "login", "", "connecting to"},
	{"watching", "statement", "ORDER BY ct.source_object_id", "watching the database"},
	{"page", "statement", "t.[v]", "table dbo.k"},
	{"after a page", "statement", "m.start_lsn <= @last", "table dbo.k"},
	{"verifying", "statement", "m.start_lsn = @proof", "table dbo.k"},
	{"describing", "statement", "cdc.captured_columns", "dbo.k: describing"},
	{"chunk bound", "statement", "OFFSET @n - 1", "table dbo.k"},
	{"chunk", "statement", "FROM [dbo].[k]", "table dbo.k"},
	{"saving", "statement", "saved_at = SYSUTCDATETIME()", "positions could not be saved"},
}

// lastingFault runs the input against a server that refuses a step for twenty seconds, and gives the log of it. Everything arrives after
// that, without help.
func lastingFault(t *testing.T, rule mssqltest.Rule) (log *cdcLog) {
	t.Helper()
	onSnapshot(t, 20, func(t *testing.T, r *cdcRig) {
		fields := faultFields
		if !strings.Contains(rule.Text, "OFFSET") && !strings.Contains(rule.Text, "FROM [dbo]") {
			fields = strings.Replace(fields, "stream_snapshot: true\n", "", 1)
		}
		run := r.start(fields)
		got := bodies(run.drains(2 * time.Second))
		rule.Match = func(e mssqltest.Event) bool { return e.App != "" }
		var remove func()
		switch {
		case strings.Contains(fields, "stream_snapshot"):
			run.stop()
			r.sql("TRUNCATE TABLE dbo.positions")
			run, got = r.start(fields), nil
			remove = r.ctl.Add(rule)
		case strings.Contains(rule.Text, "captured_columns"):
			run.stop()
			run = r.start(fields)
			remove = r.ctl.Add(rule)
		default:
			remove = r.ctl.Add(rule)
			r.ctl.Cut(func(e mssqltest.Event) bool { return e.App != "" })
		}
		r.sql("INSERT dbo.k (id, v) VALUES (100, N'new'), (101, N'new')")
		got = append(got, bodies(run.drains(20*time.Second))...)
		log = run.log.copied()
		remove()
		missing := map[string]bool{}
		for id := 1; id <= 20; id++ {
			missing[fmt.Sprintf(`{"id":%d,"v":"old"}`, id)] = true
		}
		missing[`{"id":100,"v":"new"}`], missing[`{"id":101,"v":"new"}`] = true, true
		for ; ; got = bodies(run.batch()) {
			for _, body := range got {
				delete(missing, body)
			}
			if len(missing) == 0 {
				break
			}
		}
		run.until("the positions are saved", func() bool {
			return r.cell("SELECT COUNT(*) FROM dbo.positions WHERE source_table <> N'' AND position NOT LIKE N'%snapshot%'") == "1"
		})
	})
	return log
}

// An error that passes, and does not for twenty seconds, is told of: what does not work, and the number.
func TestInputTellsOfLastingErrors(t *testing.T) {
	for s, step := range cdcSteps {
		for i, number := range transientNumbers {
			if thinned(s+i, 5, 25) {
				continue
			}
			t.Run(fmt.Sprintf("%s, error %d", step.name, number), func(t *testing.T) {
				t.Parallel()
				rule := transientRule(i)
				rule.Kind, rule.Text = step.kind, step.text
				log := lastingFault(t, rule)
				told := slices.ContainsFunc(log.lines, func(line string) bool {
					return (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR")) && strings.Contains(line, step.named) &&
						strings.Contains(line, fmt.Sprintf("error %d", number))
				})
				if !told {
					t.Errorf("the log does not tell of error %d at %q:\n%s", number, step.named, log)
				}
			})
		}
	}
}

// faultFields make a snapshot of several chunks and pages, with positions in a table of the same server.
const faultFields = "stream_snapshot: true\nsnapshot_max_batch_size: 8\nbatching: {count: 5}\nmax_connections: 2\ncheckpoint_cache_table_name: dbo.positions"

// An error of the configuration does not pass: what it is about is told at once, with what to do, and everything goes on without help
// when it is mended.
func TestInputTellsOfConfigurationErrors(t *testing.T) {
	for _, tt := range []struct {
		name, kind, text string
		number           int32
		class            uint8
		want             string
	}{
		{"no such database", "login", "", 4060, 11, `check "database" in the connection string`},
		{"wrong password", "login", "", 18456, 14, "check user name and password"},
		{"expired password", "login", "", 18487, 14, "password has expired"},
		{"firewall", "login", "", 40615, 14, "firewall"},
		{"no user of the database", "statement", "ORDER BY ct.source_object_id", 916, 14, "CREATE USER"},
		{"no right on a change table", "statement", "t.[v]", 229, 14, "GRANT SELECT ON SCHEMA::[cdc]"},
		{"no change table", "statement", "t.[v]", 208, 16, "dbo.k"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			log := lastingFault(t, mssqltest.Rule{Kind: tt.kind, Text: tt.text, Error: tt.number, Class: tt.class, ErrorMessage: "A fault of the test."})
			at := slices.IndexFunc(log.lines, func(line string) bool {
				return (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR")) && strings.Contains(line, fmt.Sprintf("error %d", tt.number)) && strings.Contains(line, tt.want)
			})
			if at < 0 || log.lines[at] > "00:00:05" {
				t.Errorf("the log does not tell of error %d with %q within seconds:\n%s", tt.number, tt.want, log)
			}
		})
	}
}
