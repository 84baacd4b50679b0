package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func TestBulkTable(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE SCHEMA [my.schema]\nGO\nCREATE TABLE dbo.a (id int); CREATE TABLE dbo.b (id int); CREATE TABLE [my.schema].[t.x] (id int)")
		r.start("table: a").lands(`{"id":1}`)
		r.start("table: dbo.a").lands(`{"id":2}`)
		r.start("table: '[my.schema].[t.x]'").lands(`{"id":3}`)
		r.start("table: 'dbo.${! this.id.type() }'").refuses(bulkBatch(`{"id":1}`), map[int][]string{0: {"dbo.number", "does not exist"}})
		out := r.start(`table: 'dbo.${! @where }'`)
		batch := bulkBatch(`{"id":4}`, `{"id":5}`, `{"id":6}`)
		for i, name := range []string{"a", "b", "a"} {
			batch[i].MetaSet("where", name)
		}
		out.refuses(batch, nil)
		r.want("SELECT id FROM dbo.a ORDER BY id", "1", "2", "4", "6")
		r.want("SELECT id FROM dbo.b", "5")
		r.want("SELECT id FROM [my.schema].[t.x]", "3")

		byMeta := r.start("")
		batch = bulkBatch(`{"id":7}`, `{"id":8}`, `{"id":9}`)
		batch[0].MetaSet("database_schema", "my.schema")
		batch[0].MetaSet("table", "t.x")
		batch[1].MetaSet("table", "a")
		batch[2].MetaSet("database_schema", "dbo")
		batch[2].MetaSet("table", "b")
		byMeta.refuses(batch, map[int][]string{1: {"row 2", "there is no table", "database_schema"}})
		r.want("SELECT id FROM [my.schema].[t.x] ORDER BY id", "3", "7")
		r.want("SELECT id FROM dbo.b ORDER BY id", "5", "9")
	})
}

func TestBulkOnUnknownField(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		r.start("table: t").refuses(bulkBatch(`{"id":1,"x":1}`, `{"id":2}`), map[int][]string{0: {"column x", "no such column", "on_unknown_field"}})
		r.start("table: t\non_unknown_field: ignore").lands(`{"id":3,"x":1}`)
		r.want("SELECT id FROM dbo.t ORDER BY id", "2", "3")
	})
}

func TestBulkOnLossy(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (s varchar(3) COLLATE SQL_Latin1_General_CP1_CI_AS, b varbinary(2), n decimal(5,1), d datetime2(0), f float)")
		for _, tt := range []struct{ choice, row, query, got string }{
			{"text: truncate", `{"s":"abcd"}`, "SELECT s FROM dbo.t", "abc"},
			{"text: truncate", `{"s":"a表b"}`, "SELECT s FROM dbo.t", "a?b"},
			{"text: truncate", `{"b":"3q2+7w=="}`, "SELECT CONVERT(varchar(10), b, 1) FROM dbo.t", "0xDEAD"},
			{"number: round", `{"n":1.25}`, "SELECT n FROM dbo.t", "1.3"},
			{"time: round", `{"d":"2024-01-01T00:00:00.5"}`, "SELECT CONVERT(varchar(30), d, 126) FROM dbo.t", "2024-01-01T00:00:01"},
			{"nan: 'null'", `{"f":"NaN"}`, "SELECT f FROM dbo.t", "NULL"},
		} {
			name, _, _ := strings.Cut(tt.row, ":")
			r.start("table: t").refuses(bulkBatch(tt.row), map[int][]string{0: {strings.Trim(name, `{"`), "on_lossy"}})
			r.start("table: t\non_lossy:\n  " + tt.choice).lands(tt.row)
			r.want(tt.query, tt.got)
			r.sql("TRUNCATE TABLE dbo.t")
		}
	})
}

func TestBulkHints(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int CHECK (id > 0), v int NULL DEFAULT 7)")
		var seen []string
		defer r.ctl.Add(mssqltest.Rule{Kind: "bulk", Before: func(e mssqltest.Event) { seen = append(seen, e.Text) }})()
		r.start("table: t").lands(`{"id":1,"v":null}`)
		r.want("SELECT v FROM dbo.t", "NULL")
		r.start("table: t\nmax_retries: 0").refuses(bulkBatch(`{"id":-1}`), map[int][]string{0: {"CHECK"}})

		r.start("table: t\nhints: [CHECK_CONSTRAINTS, FIRE_TRIGGERS]").lands(`{"id":2,"v":null}`)
		r.start("table: t\nhints: [FIRE_TRIGGERS, KEEP_NULLS]").lands(`{"id":-3,"v":null}`)
		r.start("table: t\nhints: []").lands(`{"id":-5,"v":null}`)
		r.want("SELECT id, v FROM dbo.t ORDER BY id", "-5|7", "-3|NULL", "1|NULL", "2|7")

		seen = nil
		r.start("table: t\nhints: [CHECK_CONSTRAINTS, KEEP_NULLS]").lands(`{"id":4}`)
		r.start("table: t\nhints: [FIRE_TRIGGERS]").lands(`{"id":5}`)
		r.start("table: t\nhints: [TABLOCK, 'ORDER(id)', ROWS_PER_BATCH = 10]").lands(`{"id":6}`)
		if len(seen) != 3 || strings.Contains(seen[0], "FIRE_TRIGGERS") || !strings.Contains(seen[1], "FIRE_TRIGGERS") ||
			!strings.Contains(seen[2], "TABLOCK") || !strings.Contains(seen[2], "ORDER([id] ASC)") || !strings.Contains(seen[2], "ROWS_PER_BATCH") {
			t.Errorf("the bulk loads were %q", seen)
		}
		r.refusesConfig("table: t\nhints: [NOSUCH]", "NOSUCH")
	})
}

// refusesConfig parses fields that are wrong.
func (r *bulkRig) refusesConfig(fields, want string) {
	r.t.Helper()
	conf, err := bulkSpec().ParseYAML(fields+"\nconnection_string: sqlserver://x", nil)
	if err == nil {
		_, _, _, err = newBulkOutput(conf, service.MockResources())
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		r.t.Errorf("%s: %v, want an error with %q", fields, err, want)
	}
}

func TestBulkConfig(t *testing.T) {
	r := &bulkRig{t: t}
	for _, tt := range []struct{ fields, want string }{
		{"mode: merge", "mode"},
		{"mode: upsert\nmax_in_flight: 2", "max_in_flight must be 1"},
		{"mode: apply\noperation: '${! nonsense( }'", "operation"},
		{"raw_tds: sometimes", "raw_tds"},
		{"table: a.b.c", "parts"},
		{"table: '[a'", "not closed"},
		{"backoff: {initial_interval: soon}", "initial_interval"},
	} {
		r.refusesConfig(tt.fields, tt.want)
	}
	conf, err := bulkSpec().ParseYAML("connection_string: sqlserver://x\nmax_in_flight: 3\nbatching: {count: 17}", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, policy, inFlight, err := newBulkOutput(conf, service.MockResources())
	if err != nil || inFlight != 3 || policy.Count != 17 {
		t.Errorf("%d in flight, batches of %d, %v", inFlight, policy.Count, err)
	}
	for _, tt := range []struct{ fields, want string }{
		{"mode: upsert", ""},
		{"mode: apply", ""},
		{"mode: merge", "value merge"},
		{"mode: upsert\n    max_in_flight: 2", "max_in_flight must be 1 with mode upsert"},
		{"mode: apply\n    max_in_flight: 64", "max_in_flight must be 1 with mode apply"},
		{"max_in_flight: 0", "max_in_flight"},
		{"max_in_flight: 8", ""},
		{"max_retries: -1", "max_retries"},
		{"on_unknown_field: add_column", ""},
		{"on_unknown_field: add_table", "add_table"},
		{"mode: apply\n    on_snapshot_end: delete_missing", ""},
		{"mode: upsert\n    on_snapshot_end: delete_missing", "needs mode apply"},
		{"mode: apply\n    on_snapshot_end: forget", "forget"},
		{"on_lossy: {text: round}", "round"},
		{"mode: upsert\n    key_columns: [a]", ""},
		{"key_columns: [a]", "key_columns"},
	} {
		lints := strings.Join(lint(t, "output:\n  mssql_bulk:\n    connection_string: x\n    "+tt.fields+"\n"), "; ")
		if tt.want == "" && lints != "" || !strings.Contains(lints, tt.want) {
			t.Errorf("%s: %q, want %q", tt.fields, lints, tt.want)
		}
	}
	if _, err := bulkSpec().ParseYAML("table: t", nil); err == nil {
		t.Error("connection_string is not required")
	}
}

func TestBulkInitStatement(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int); CREATE TABLE dbo.sessions (id int)")
		r.start("table: t\ninit_statement: INSERT dbo.sessions VALUES (7); SET NOCOUNT ON").lands(`{"id":1}`)
		r.want("SELECT id FROM dbo.sessions", "7")
		if err := r.make("table: t\ninit_statement: SELECT nonsense").output.Connect(t.Context()); err == nil {
			t.Error("a statement that fails does not stop the connection")
		}
	})
}

func TestBulkMaxRetries(t *testing.T) {
	for _, retries := range []int{0, 2} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
			out := r.start(fmt.Sprintf("table: t\nmax_retries: %d\nbackoff: {initial_interval: 10s, max_interval: 10s}", retries))
			tries := 0
			defer r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[t]", Before: func(mssqltest.Event) { tries++ }})()
			began := time.Now()
			out.refuses(bulkBatch(`{"id":1}`, `{"id":1}`), map[int][]string{1: {"PRIMARY KEY"}})
			if want := 1 + retries + 2; tries != want {
				t.Errorf("%d tries, want %d", tries, want)
			}
			if took, least := time.Since(began), time.Duration(retries)*5*time.Second; took < least || retries == 0 && took > time.Second {
				t.Errorf("took %s, want at least %s", took, least)
			}
			if n := out.metrics.get("mssql_bulk_splits", ""); n != 1 {
				t.Errorf("%v splits", n)
			}
		})
	}
}

func TestBulkBackoff(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		remove := r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[t]", Error: 1205})
		out := r.start("table: t\nbackoff: {initial_interval: 1s, max_interval: 2s, max_elapsed_time: 30s}")
		began := time.Now()
		err := out.output.WriteBatch(t.Context(), bulkBatch(`{"id":1}`))
		if !errors.Is(err, service.ErrNotConnected) {
			t.Errorf("after max_elapsed_time: %v", err)
		}
		if took := time.Since(began); took < 25*time.Second || took > 35*time.Second {
			t.Errorf("gave up after %s", took)
		}
		if n := out.metrics.get("mssql_bulk_retries", ""); n < 12 || n > 70 {
			t.Errorf("%v tries", n)
		}
		remove()
		out.lands(`{"id":1}`)
		r.want("SELECT id FROM dbo.t", "1")
	})
}

func TestBulkRawTDS(t *testing.T) {
	t.Setenv(session.RawEnv, "") // or auto may be something else
	for _, mode := range []string{"auto", "off", "require"} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int, s nvarchar(10), d decimal(10,2))")
			out := r.start("table: t\nraw_tds: " + mode)
			out.lands(`{"id":1,"s":"é","d":1.5}`, `{"id":2}`)
			r.want("SELECT id, s, d FROM dbo.t ORDER BY id", "1|é|1.50", "2|NULL|NULL")
			raw, err := out.output.idle[0].conn.Raw(t.Context())
			if raw != (mode != "off") {
				t.Errorf("rows are written directly: %t (%v)", raw, err)
			}
		})
	}
}

func TestBulkConnectionTest(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)\nGO\nCREATE LOGIN reader WITH PASSWORD = 'Str0ng!pass'\nGO\nCREATE USER reader FOR LOGIN reader; GRANT SELECT ON dbo.t TO reader")
		for _, tt := range []struct{ fields, want string }{
			{"table: t", ""},
			{"table: ''", ""},
			{"table: missing", "dbo.missing"},
			{"table: t\nconnection_string: " + r.dsn("password=wrong"), "password"},
			{"table: t\nconnection_string: " + r.dsn("user id=reader", "password=Str0ng!pass"), "GRANT SELECT, INSERT ON [dbo].[t]"},
		} {
			out := r.make(tt.fields)
			got := out.output.ConnectionTest(context.Background())
			var texts []string
			for _, c := range got {
				if c.Err != nil {
					texts = append(texts, c.Err.Error())
				}
			}
			if text := strings.Join(texts, "; "); tt.want == "" && text != "" || !strings.Contains(text, tt.want) {
				t.Errorf("%s: %q, want %q", tt.fields, text, tt.want)
			}
			if err := out.output.Connect(t.Context()); (err == nil) != (tt.want == "") {
				t.Errorf("%s: Connect gives %v", tt.fields, err)
			}
		}
	})
}

func TestBulkMetrics(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		out := r.start("table: t")
		out.refuses(bulkBatch(`{"id":1}`, `{"id":2}`, `{"id":"x"}`), map[int][]string{2: {"is not a number"}})
		got := []float64{
			out.metrics.get("mssql_bulk_rows", "dbo.t"), out.metrics.get("mssql_bulk_loads", "dbo.t"), out.metrics.get("mssql_bulk_refused", "dbo.t"),
			out.metrics.get("mssql_bulk_retries", ""), out.metrics.get("mssql_bulk_connections", ""),
		}
		if want := []float64{2, 1, 1, 0, 1}; !slices.Equal(got, want) {
			t.Errorf("metrics %v, want %v", got, want)
		}
		if out.metrics.get("mssql_bulk_bytes", "dbo.t") <= 0 {
			t.Error("no bytes were counted")
		}
	})
}
