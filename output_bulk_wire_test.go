package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// bulkPaths are the ways of rows over the wire: past the driver and through it, into a temporary table and straight into the table.
var bulkPaths = []struct{ name, fields string }{
	{"raw, staged", "raw_tds: require"},
	{"raw, direct", "raw_tds: require\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]"},
	{"driver, staged", "raw_tds: off"},
	{"driver, direct", "raw_tds: off\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]"},
}

// bulkFault loads a batch of several packets over a wire that breaks. All of it lands: once, or, where the answer to the commit was
// lost, perhaps twice, which is then said; there is never a part of it.
func bulkFault(t *testing.T, fields string, cut *wireCut) *wire {
	t.Helper()
	w := &wire{cut: wireCut{packet: -1}}
	if cut != nil {
		w.cut = *cut
	}
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.wire = w
		r.sql("CREATE TABLE dbo.t (id int, s nvarchar(200))")
		half := ""
		look := r.ctl.Add(mssqltest.Rule{Kind: "login", Match: func(e mssqltest.Event) bool { return e.App != "" }, Before: func(mssqltest.Event) {
			rows, err := r.srv.Query("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.t")
			if err != nil || rows[0][0] != "0" && rows[0][1] != "10" {
				half = fmt.Sprint(rows, err)
			}
		}})
		out := r.make(fmt.Sprintf("table: t\nbackoff: {initial_interval: 1s, max_interval: 1s}\nconnection_string: %q\n%s", r.dsn("packet size=512"), fields))
		if err := out.output.Connect(context.Background()); err != nil { // Benthos tries again
			if err := out.output.Connect(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		var bodies []string
		for i := range 10 {
			bodies = append(bodies, fmt.Sprintf(`{"id":%d,"s":"%s"}`, i+1, strings.Repeat("x", 150)))
		}
		out.lands(bodies...)
		look()
		if half != "" {
			t.Errorf("at a login the table had %s rows", half)
		}
		unknown := out.metrics.get("mssql_bulk_unknown_commits", "")
		got := r.rows("SELECT MIN(n), MAX(n), COUNT(*) FROM (SELECT COUNT(*) AS n FROM dbo.t GROUP BY id, s) AS g")[0]
		switch {
		case got == "1|1|10":
		case got == "2|2|10" && unknown == 1 && out.log.count("may be there twice") == 1:
		default:
			t.Errorf("each row is there %s times (least|most|rows), with %v unknown commits\nlog:\n%s", got, unknown, out.log)
		}
		if n := out.metrics.get("mssql_bulk_rows", "dbo.t"); n != 10 {
			t.Errorf("%v rows were counted", n)
		}
	})
	if cut != nil && w.acted == "" {
		t.Errorf("packet %d was never sent: there were %d", cut.packet, len(w.steps))
	}
	return w
}

// The connection breaks at every packet of a load, sent or received: logins, metadata, INSERT BULK, its rows, DONE, COMMIT; before the
// packet, in its header, and in its middle. What there was is printed by
//
//	CI=true go test -count=1 -v -run TestBulkCutAtEveryPacket .
func TestBulkCutAtEveryPacket(t *testing.T) {
	for p, path := range bulkPaths {
		t.Run(path.name, func(t *testing.T) {
			whole := bulkFault(t, path.fields, nil)
			n, text := whole.counts()
			for _, step := range []string{"login", "other", "insert bulk", "bulk data", "begin", "commit"} {
				if n["sent "+step] == 0 || n["received "+step] == 0 {
					t.Fatalf("no packet of step %q:\n%s", step, text)
				}
			}
			if n["sent bulk data"] < 3 {
				t.Fatalf("the rows took %d packets", n["sent bulk data"])
			}
			t.Logf("%d packets in all:\n%s", len(whole.steps), text)
			for i := range len(whole.steps) * wireParts {
				cut := wireCut{packet: i / wireParts, part: i % wireParts, reset: i%2 == 0}
				if thinned(i+p, 1, 17) && !strings.HasSuffix(whole.steps[cut.packet], "commit") {
					continue
				}
				t.Run(fmt.Sprintf("%+v %s", cut, whole.steps[cut.packet]), func(t *testing.T) {
					t.Parallel()
					bulkFault(t, path.fields, &cut)
				})
			}
		})
	}
}

// A load is given up while its rows are on their way, and the connection breaks at each packet of that: of what the server is asked to
// give up, nothing is there; the next batch lands.
func TestBulkCutWhileCancelled(t *testing.T) {
	for _, path := range bulkPaths {
		attentions := 0
		for part := range wireParts * 2 {
			w := &wire{cut: wireCut{packet: -1, part: part % wireParts, reset: part%2 == 0}}
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.wire = w
				r.sql("CREATE TABLE dbo.t (id int, s nvarchar(200))")
				out := r.start("table: t\nbackoff: {initial_interval: 1s, max_interval: 1s}\n" + path.fields)
				w.cutAt([]string{"sent attention", "received attention"}[part/wireParts]) // there may be attentions while connecting, too
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r.ctl.Add(mssqltest.Rule{Kind: "bulk", Times: 1, Before: func(mssqltest.Event) { cancel() }, Drop: true})
				err := out.output.WriteBatch(ctx, bulkBatch(`{"id":1}`))
				if !errors.Is(err, context.Canceled) && !errors.Is(err, service.ErrNotConnected) {
					t.Errorf("a load that was given up: %v", err)
				}
				r.want("SELECT COUNT(*) FROM dbo.t", "0")
				out.lands(`{"id":2}`)
				r.want("SELECT id FROM dbo.t", "2")
				if n := out.metrics.get("mssql_bulk_rows", "dbo.t"); n != 1 {
					t.Errorf("%v rows were counted", n)
				}
			})
			if w.acted != "" {
				attentions++
			}
			if t.Failed() {
				t.Fatalf("%s, cut in part %d of %s", path.name, part%wireParts, w.at)
			}
		}
		if raw := strings.HasPrefix(path.name, "raw"); raw != (attentions == 2*wireParts) { // the driver ends the connection instead
			t.Errorf("%s: %d attentions were cut", path.name, attentions)
		}
	}
}
