package mssqlcdc

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
	"pgregory.net/rapid"

	"example.com/mssqlcdc/mssqltest"
)

// modelOp is a change of the model's table: id, v, n, and e, the place of the change that touched the row last.
type modelOp struct {
	kind     string
	id, v    int
	has, lob bool // whether it knows v and n
	bad      bool // its v is no number
}

func (o modelOp) message(place int) *service.Message {
	var body []string
	body = append(body, fmt.Sprintf(`"id":%d,"e":%d`, o.id, place))
	if o.has && !o.bad {
		body = append(body, fmt.Sprintf(`"v":%d`, o.v))
	}
	if o.bad {
		body = append(body, `"v":"x"`)
	}
	var more []any
	switch {
	case o.lob:
		body = append(body, fmt.Sprintf(`"n":"n%d"`, place))
	case place%2 == 0:
		more = []any{"unchanged_columns", []any{"n"}}
	default: // in the body, and not known all the same
		body, more = append(body, `"n":"wrong"`), []any{"unchanged_columns", `["n"]`}
	}
	return event(place, o.kind, "{"+strings.Join(body, ",")+"}", more...)
}

// model applies changes one after the other. An update without a row does nothing, as with on_missing_row: ignore.
func model(ops []modelOp) []string {
	type row struct{ v, n, e string }
	rows := map[int]*row{}
	for place, o := range ops {
		if o.bad && o.kind != "delete" {
			continue
		}
		r := rows[o.id]
		switch {
		case o.kind == "delete":
			delete(rows, o.id)
			continue
		case r == nil && o.kind == "update":
			continue
		case r == nil:
			r = &row{v: "7", n: "NULL"} // the default of v
			rows[o.id] = r
		}
		if o.has {
			r.v = fmt.Sprint(o.v)
		}
		if o.lob {
			r.n = fmt.Sprintf("n%d", place)
		}
		r.e = fmt.Sprint(place)
	}
	var out []string
	for id := range 10 {
		if r := rows[id]; r != nil {
			out = append(out, fmt.Sprintf("%d|%s|%s|%s", id, r.v, r.n, r.e))
		}
	}
	return out
}

// modelFault is what goes wrong while a batch is written: the connection is cut at a message of the load, before it is handled or
// after, or the process dies there, and another begins some changes back.
type modelFault struct {
	batch, message int
	after, crash   bool
	back           int
}

type modelRun struct {
	ops    []modelOp
	cuts   []int // sizes of batches, in turn
	faults []modelFault
	fields string
}

func drawModel(t *rapid.T, mode string, whole bool) (m modelRun) {
	kinds := []string{"insert", "update", "update", "delete", "read", "upsert"}
	if mode == "insert" {
		kinds = []string{"insert"}
	}
	n := rapid.IntRange(5, 40).Draw(t, "changes")
	for i := range n {
		o := modelOp{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), id: rapid.IntRange(0, 4).Draw(t, "id"), v: rapid.IntRange(0, 99).Draw(t, "v"), has: rapid.Bool().Draw(t, "has v"), lob: rapid.Bool().Draw(t, "has n")}
		o.bad = rapid.IntRange(0, 9).Draw(t, "bad") == 0
		if mode == "insert" {
			o.id = i
		}
		if whole && o.kind != "update" { // as mssql_cdc has them: what a row does not have could not be applied twice
			o.has, o.lob = true, true
		}
		m.ops = append(m.ops, o)
	}
	m.cuts = rapid.SliceOfN(rapid.IntRange(1, 12), 1, 5).Draw(t, "cuts")
	for range rapid.IntRange(0, 4).Draw(t, "faults") {
		m.faults = append(m.faults, modelFault{rapid.IntRange(0, 6).Draw(t, "batch"), rapid.IntRange(0, 14).Draw(t, "message"), rapid.Bool().Draw(t, "after"), rapid.Bool().Draw(t, "crash"), rapid.IntRange(0, 15).Draw(t, "back")})
	}
	return m
}

// run writes the changes and says how the table differs from the model, "" if it does not.
func (m *modelRun) run(r *bulkRig, twice bool) string {
	r.sql(`CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NOT NULL DEFAULT 7, n nvarchar(max) NULL, e int NOT NULL); CREATE TABLE dbo.audit (e int)
GO
CREATE TRIGGER dbo.watch ON dbo.t AFTER INSERT, UPDATE AS INSERT dbo.audit SELECT e FROM inserted`)
	out := r.start(m.fields)
	faults := slices.Clone(m.faults)
	for from, n := 0, 0; from < len(m.ops); n++ {
		to := min(from+m.cuts[n%len(m.cuts)], len(m.ops))
		var batch service.MessageBatch
		for place := from; place < to; place++ {
			batch = append(batch, m.ops[place].message(place))
		}
		ctx, cancel := context.WithCancel(context.Background())
		back, remove := -1, func() {}
		if i := slices.IndexFunc(faults, func(f modelFault) bool { return f.batch == n }); i >= 0 {
			f := faults[i]
			faults = slices.Delete(faults, i, i+1)
			rule := mssqltest.Rule{Skip: f.message, Times: 1, Cut: true}
			if f.after {
				rule.CutAfter = 1
			}
			hit := func(mssqltest.Event) {
				if f.crash {
					back = f.back
					cancel()
				}
			}
			if f.after {
				rule.After = hit
			} else {
				rule.Before = hit
			}
			remove = r.ctl.Add(rule)
		}
		err := out.output.WriteBatch(ctx, batch)
		remove()
		cancel()
		if back >= 0 { // the process has died; what another one is given begins at or before the batch
			from = max(0, from-back)
			out = r.start(m.fields)
			continue
		}
		if err != nil {
			return fmt.Sprintf("batch %d: %v", n, err)
		}
		from = to
	}
	got, want := r.rows("SELECT id, v, n, e FROM dbo.t ORDER BY id"), model(m.ops)
	if strings.Contains(m.fields, "mode: insert") {
		slices.SortFunc(got, func(a, b string) int { return len(a) - len(b) })
		want = want[:0]
		for i, o := range m.ops {
			if !o.bad {
				want = append(want, fmt.Sprint(i))
			}
		}
		got = r.rows("SELECT e FROM dbo.t ORDER BY e")
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the table has\n%s\nand should have\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if more := r.rows("SELECT e FROM dbo.audit GROUP BY e HAVING COUNT(*) > 1"); !twice && len(more) > 0 {
		return fmt.Sprintf("changes %q were applied twice", more)
	}
	if !twice {
		bad := 0
		for _, o := range m.ops {
			if o.bad && o.kind != "delete" {
				bad++
			}
		}
		if n := r.rows("SELECT COUNT(*) FROM dbo.rejected")[0]; n != fmt.Sprint(bad) {
			return fmt.Sprintf("%s rows were rejected, and %d are bad", n, bad)
		}
	}
	return ""
}

// Random changes in random batches, with bad rows, connections that are cut and processes that die at any message, end as if each change
// had been applied once, one after the other; with exactly_once no change is applied twice.
//
//	MSSQLCDC_LONG=1 go test -count=1 -run TestBulkModel -rapid.checks=400 .
func TestBulkModel(t *testing.T) {
	if os.Getenv("CI") == "" && os.Getenv("MSSQLCDC_LONG") == "" {
		if err := flag.Set("rapid.checks", "6"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", "100") }() // it was set before
	}
	const always = "\ntable: t\nreject_table: dbo.rejected\non_missing_row: ignore\nmax_retries: 10\nbackoff: {initial_interval: 1s, max_interval: 1s}"
	for _, tt := range []struct {
		name, mode, fields string
		twice              bool
	}{
		{"apply", "apply", "mode: apply", true},
		{"apply once", "apply", "mode: apply\nexactly_once: {enabled: true}", false},
		{"insert once", "insert", "mode: insert\nexactly_once: {enabled: true}", false},
		{"insert once, direct", "insert", "mode: insert\nexactly_once: {enabled: true}\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]", false},
		{"apply once, by the driver", "apply", "mode: apply\nraw_tds: off\nexactly_once: {enabled: true}", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := drawModel(rt, tt.mode, tt.twice)
				m.fields = tt.fields + always
				var wrong string
				onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) { wrong = m.run(r, tt.twice) })
				if wrong != "" {
					rt.Fatalf("%s", wrong)
				}
			})
		})
	}
}
