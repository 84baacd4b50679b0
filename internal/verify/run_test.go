package verify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

const items = "CREATE TABLE dbo.items (id int NOT NULL PRIMARY KEY, name nvarchar(50) NULL, price decimal(10,2) NULL, doc varbinary(max) NULL);"

func item(i int) string { return fmt.Sprintf("(%d, N'item %d', %d.50, 0x%04x)", i, i, i%1000, i) }

func TestOneCellAmongManyRowsIsFound(t *testing.T) {
	const n = 100_000
	rows := fill("dbo.items", 3125, item)
	for have := 3125; have < n; have *= 2 {
		rows += fmt.Sprintf("INSERT INTO dbo.items SELECT id + %d, name, price, doc FROM dbo.items;", have)
	}
	r := newRig(t, items+rows, items+rows).tables("dbo.items")
	r.exec(r.dst, "UPDATE dbo.items SET price = price + 0.01 WHERE id = 77777;")
	got := r.one()
	wantRows(t, got, `differs {"id":77777} price:"777.50"/"777.51"`)
	if got.Differences != 1 || got.SourceRows != n || got.TargetRows != n || got.Method != "chunks of the key" {
		t.Errorf("%+v", got)
	}
}

func TestMissingAndExtraRows(t *testing.T) {
	rows := fill("dbo.items", 50, item)
	r := newRig(t, items+rows, items+rows).tables("dbo.items")
	r.conf.Chunk = 7
	r.exec(r.src, "INSERT INTO dbo.items VALUES (0, NULL, NULL, NULL), (51, N'last', 1, NULL);")
	r.exec(r.dst, "DELETE FROM dbo.items WHERE id = 20; INSERT INTO dbo.items VALUES (-5, N'x', 1, NULL), (60, N'x', 1, NULL); UPDATE dbo.items SET doc = NULL, name = N'other' WHERE id = 30;")
	got := r.one()
	wantRows(t, got, `extra {"id":-5}`, `missing {"id":0}`, `missing {"id":20}`,
		`differs {"id":30} name:"item 30"/"other" doc:"AB4="/null`, `extra {"id":60}`, `missing {"id":51}`)
	if r.run().Verdict() != Different {
		t.Error("the verdict is not that the tables differ")
	}
	r.exec(r.dst, "DELETE FROM dbo.items;")
	if got := r.one(); got.Differences != 52 || got.TargetRows != 0 {
		t.Errorf("an empty target: %+v", got)
	}
	r.conf.List = 3
	if got := r.one(); got.Differences != 52 || len(got.Rows) != 3 {
		t.Errorf("%d listed of %d, want 3 of 52", len(got.Rows), got.Differences)
	}
	r.exec(r.src, "DELETE FROM dbo.items;")
	wantRows(t, r.one())
}

func TestTablesWithoutAKeyAreCompared(t *testing.T) {
	const table = "CREATE TABLE dbo.log (a int NULL, b varchar(20) NULL);"
	rows := fill("dbo.log", 300, func(i int) string { return fmt.Sprintf("(%d, 'line %d')", i%100, i%100) })
	r := newRig(t, table+rows, table+rows).tables("dbo.log")
	if got := r.one(); !got.Equal || got.SourceRows != 300 || got.Method != "buckets of row hashes" {
		t.Fatalf("the same rows: %+v", got)
	}
	r.exec(r.dst, "INSERT INTO dbo.log VALUES (5, 'line 5'), (7, NULL); DELETE FROM dbo.log WHERE a = 9;")
	got := r.one()
	texts := map[string]bool{}
	for _, d := range got.Rows {
		texts[d.text()] = true
	}
	for _, want := range []string{`extra {"a":5,"b":"line 5"}`, `extra {"a":7,"b":null}`, `missing {"a":9,"b":"line 9"}`} {
		if !texts[want] {
			t.Errorf("%q is not among %v", want, texts)
		}
	}
	if got.Differences != 5 { // 3 rows are missing
		t.Errorf("%d rows differ, want 5", got.Differences)
	}
}

func TestRenamedTablesAndChosenColumns(t *testing.T) {
	r := newRig(t, "CREATE TABLE dbo.a (id int NOT NULL PRIMARY KEY, x int, y int); INSERT INTO dbo.a VALUES (1, 1, 1), (2, 2, 2);",
		"CREATE SCHEMA stage;\nGO\nCREATE TABLE stage.b (ID bigint NOT NULL PRIMARY KEY, X int, y int, loaded int); INSERT INTO stage.b VALUES (1, 1, 9, 0), (2, 3, 2, 0);").tables("dbo.a=stage.b")
	got := r.one()
	wantRows(t, got, `differs {"id":1} y:1/9`, `differs {"id":2} x:2/3`)
	if got.Target != "stage.b" || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "loaded") {
		t.Errorf("%+v", got)
	}
	r.conf.Skip = []string{"Y"}
	wantRows(t, r.one(), `differs {"id":2} x:2/3`)
	r.conf.Columns = []string{"y"}
	r.conf.Skip = nil
	wantRows(t, r.one(), `differs {"id":1} y:1/9`)
	r.exec(r.dst, "ALTER TABLE stage.b DROP COLUMN y;")
	if got := r.one(); !strings.Contains(got.Error, "column y: the target has no such column") {
		t.Errorf("%+v", got)
	}
	if v := r.run().Verdict(); v != Unknown {
		t.Errorf("verdict %v, want %v", v, Unknown)
	}
}

func TestKilledAndResumedWithoutReadingAgain(t *testing.T) {
	rows := fill("dbo.items", 1000, item)
	r := newRig(t, items+rows, items+strings.Replace(rows, "N'item 150'", "N'other'", 1)).tables("dbo.items")
	r.conf.Chunk, r.conf.State = 100, filepath.Join(t.TempDir(), "state")
	r.src.Control().RecordStatements(true)
	pages := func() (n int) {
		for _, s := range r.src.Control().Statements() {
			if strings.Contains(s.Text, "SELECT TOP (@n)") && s.RowsReturned > 1 {
				n++
			}
		}
		return n
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	remove := r.src.Control().Add(mssqltest.Rule{Text: "SELECT TOP (@n)", Skip: 12, Times: 1, Before: func(mssqltest.Event) { kill() }})
	if _, err := Run(ctx, r.conf); !errors.Is(err, context.Canceled) {
		t.Fatalf("a comparison that was ended: %v", err)
	}
	remove()
	before := pages()
	got := r.one()
	wantRows(t, got, `differs {"id":150} name:"item 150"/"other"`)
	if got.SourceRows != 1000 || got.TargetRows != 1000 {
		t.Errorf("%d and %d rows were compared, want 1000", got.SourceRows, got.TargetRows)
	}
	// Ten chunks; the one that was being read, and the one with a difference, are read again, and that once more to see whether it stays.
	if n := pages() - before; before < 3 || before+n > 10+1+2 {
		t.Errorf("%d pages were read before and %d after", before, n)
	}
	if states, err := filepath.Glob(r.conf.State + "*"); err != nil || len(states) > 0 {
		t.Errorf("the state of a finished comparison is still there: %v, %v", states, err)
	}
}

func TestStateOfAnotherComparisonIsRefused(t *testing.T) {
	r := newRig(t, items, items).tables("dbo.items", "dbo.nowhere")
	r.conf.State = filepath.Join(t.TempDir(), "state")
	if got := r.run(); got.Tables[1].Error == "" {
		t.Fatalf("a table that is not there: %+v", got.Tables[1])
	}
	r.conf.Source, r.conf.Target = r.conf.Target, r.conf.Source
	if _, err := Run(t.Context(), r.conf); err == nil || !strings.Contains(err.Error(), "another comparison") {
		t.Errorf("the state of the other direction: %v", err)
	}
}

func TestBrokenConnectionsAreReplaced(t *testing.T) {
	rows := fill("dbo.items", 500, item)
	r := newRig(t, items+rows, items+rows).tables("dbo.items")
	r.conf.Chunk = 100
	r.src.Control().Add(mssqltest.Rule{Text: "SELECT TOP (@n)", Skip: 2, Times: 1, Cut: true})
	r.dst.Control().Add(mssqltest.Rule{Text: "SELECT TOP (@n)", Skip: 1, Times: 1, Error: 1205, Class: 13, ErrorMessage: "deadlock"})
	if got := r.one(); !got.Equal || got.SourceRows != 500 || got.TargetRows != 500 {
		t.Errorf("%+v", got)
	}
}

func TestReadsAreGentle(t *testing.T) {
	rows := fill("dbo.items", 30, item)
	r := newRig(t, "ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON;"+items+rows, items+rows).tables("dbo.items")
	r.src.Control().RecordStatements(true)
	r.run()
	seen := false
	for _, s := range r.src.Control().Statements() {
		if !strings.Contains(s.Text, "[dbo].[items]") || strings.Contains(s.Text, "TOP (0)") {
			continue
		}
		seen = true
		if !strings.Contains(s.Text, "MAXDOP 1") || !strings.Contains(s.Text, "SNAPSHOT") || strings.Contains(s.Text, "BEGIN TRAN") {
			t.Errorf("a read that is not gentle:\n%s", s.Text)
		}
	}
	if !seen {
		t.Error("no read was seen")
	}
	for _, srv := range []*mssqltest.Server{r.src, r.dst} {
		if n := srv.Control().OpenTransactions(); n != 0 {
			t.Errorf("%d transactions are left open", n)
		}
	}
}
