package mssqlcdc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/mssqltest"
)

// arrowRows are the rows of an Arrow message as texts, (null) for NULL, by column. The stream has one record batch.
func arrowRows(t *testing.T, m *cdcMessage) (out []map[string]string, schema *arrow.Schema) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r, err := ipc.NewReader(bytes.NewReader([]byte(m.body)), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatalf("%v in the message %v", err, m.meta)
	}
	defer r.Release()
	for batches := 0; r.Next(); batches++ {
		rec := r.RecordBatch()
		if batches > 0 {
			t.Error("the stream has more than one record batch")
		}
		for i := range int(rec.NumRows()) {
			row := map[string]string{}
			for c, a := range rec.Columns() {
				row[rec.ColumnName(c)] = a.ValueStr(i)
			}
			out = append(out, row)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if got := m.meta["rows"]; got != int64(len(out)) {
		t.Errorf("metadata rows is %v (%T) for %d rows", got, got, len(out))
	}
	return out, r.Schema()
}

// arrowTexts are columns of rows, one text a row.
func arrowTexts(rows []map[string]string, columns ...string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		var values []string
		for _, c := range columns {
			v, ok := row[c]
			if !ok {
				v = "no column " + c
			}
			values = append(values, v)
		}
		out[i] = strings.Join(values, " ")
	}
	return out
}

const arrowKeys = "database_schema first_lsn last_lsn rows schema table"

const arrowColumns = "id int NOT NULL PRIMARY KEY, v int NULL, note nvarchar(max) NULL"

// arrowChanges are an insert, an update that leaves a large value alone, one that clears it, and a delete, in one batch.
func arrowChanges(r *cdcRig) {
	r.sql("BEGIN TRAN; INSERT dbo.k VALUES (1, 1, N'long'); INSERT dbo.k VALUES (2, NULL, NULL); COMMIT")
	r.sql("BEGIN TRAN; UPDATE dbo.k SET v = 2 WHERE id = 1; UPDATE dbo.k SET note = NULL, v = 3 WHERE id = 1; DELETE dbo.k WHERE id = 2; COMMIT")
}

func TestCDCArrow(t *testing.T) {
	for _, tt := range []struct {
		before string
		want   []string // id, v, note, operation, key, changed_columns, unchanged_columns
	}{
		{"none", []string{
			`1 1 long insert {"id":1} (null) []`, `2 (null) (null) insert {"id":2} (null) []`,
			`1 2 (null) update {"id":1} ["v"] ["note"]`, `1 3 (null) update {"id":1} ["v","note"] []`,
			`2 (null) (null) delete {"id":2} (null) []`,
		}},
		{"message", []string{
			`1 1 long insert {"id":1} (null) []`, `2 (null) (null) insert {"id":2} (null) []`,
			`1 1 (null) update_before {"id":1} ["v"] ["note"]`, `1 2 (null) update_after {"id":1} ["v"] ["note"]`,
			`1 2 long update_before {"id":1} ["v","note"] []`, `1 3 (null) update_after {"id":1} ["v","note"] []`,
			`2 (null) (null) delete {"id":2} (null) []`,
		}},
	} {
		t.Run(tt.before, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("k", arrowColumns)
				arrowChanges(r)
				m := r.start("format: arrow\nbefore_image: " + tt.before).one()
				rows, schema := arrowRows(t, m)
				wantTexts(t, "rows", arrowTexts(rows, "id", "v", "note", "__$operation", "__$key", "__$changed_columns", "__$unchanged_columns"), tt.want...)
				if m.keys() != arrowKeys {
					t.Errorf("metadata %s, want %s", m.keys(), arrowKeys)
				}
				if m.text("database_schema") != "dbo" || m.text("table") != "k" || m.text("first_lsn") != rows[0]["__$lsn"] || m.text("last_lsn") != rows[len(rows)-1]["__$lsn"] || m.text("first_lsn") >= m.text("last_lsn") {
					t.Errorf("metadata %v", m.meta)
				}
				names := []string{}
				for _, f := range schema.Fields() {
					names = append(names, f.Name)
				}
				if got, want := strings.Join(names, " "), "id v note __$operation __$lsn __$commit_ts_ms __$event_id __$key __$command_id __$seqval __$changed_columns __$unchanged_columns"; got != want {
					t.Errorf("columns\n %s, want\n %s", got, want)
				}
			})
		})
	}
}

// What says which change a row is has the values that the messages of format json have in their metadata.
func TestCDCArrowColumnsAreTheMetadata(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", arrowColumns)
		arrowChanges(r)
		const more = "before_image: message\nmetadata: [seqval, command_id, transaction_id, source_ts_ms, changed_columns, database, capture_instance]\ncheckpoint_file: "
		in := r.start(more + r.file + "json").take(7)
		m := r.start("format: arrow\n" + more + r.file + "arrow").one()
		rows, _ := arrowRows(t, m)
		for i, row := range rows {
			for _, name := range []string{"operation", "lsn", "event_id", "key", "seqval", "transaction_id", "command_id"} {
				if got, want := row[changePrefix+name], fmt.Sprint(in[i].meta[name]); got != want {
					t.Errorf("row %d: %s is %s, want %s", i, name, got, want)
				}
			}
			for _, name := range []string{"commit_ts_ms", "source_ts_ms"} {
				at, err := time.Parse(time.RFC3339Nano, row[changePrefix+name])
				if err != nil || at.UnixMilli() != in[i].meta[name] {
					t.Errorf("row %d: %s is %s, want %v: %v", i, name, row[changePrefix+name], in[i].meta[name], err)
				}
			}
		}
		if got, want := m.keys(), "capture_instance database "+arrowKeys; got != want || m.text("database") != "testdb" || m.text("capture_instance") != "dbo_k" {
			t.Errorf("metadata %v, want the keys %s", m.meta, want)
		}
		if fmt.Sprint(m.meta["schema"]) != fmt.Sprint(in[0].meta["schema"]) {
			t.Errorf("the schemas differ: %v", m.meta["schema"])
		}
	})
}

func TestCDCArrowSnapshot(t *testing.T) {
	onSnapshot(t, 3, func(t *testing.T, r *cdcRig) {
		run := r.start("format: arrow\nstream_snapshot: true\nmetadata: [snapshot_id]")
		run.one().wantMark(t, "snapshot_begin")
		m := run.one()
		rows, schema := arrowRows(t, m)
		wantTexts(t, "rows", arrowTexts(rows, "id", "v", "__$operation", "__$key", "__$command_id", "__$seqval", "__$changed_columns", "__$unchanged_columns"),
			`1 old read {"id":1} (null) (null) (null) []`, `2 old read {"id":2} (null) (null) (null) []`, `3 old read {"id":3} (null) (null) (null) []`)
		if m.keys() != "database_schema first_lsn last_lsn rows schema snapshot_id table" {
			t.Errorf("metadata %s", m.keys())
		}
		for _, row := range rows {
			if row["__$lsn"] != m.text("first_lsn") || "0x"+row["__$event_id"] != row["__$lsn"]+"-read-dbo.k-"+row["__$key"] || row["__$commit_ts_ms"] == "(null)" {
				t.Errorf("the row %v has not the id, the LSN or the time of a row that was read", row)
			}
		}
		run.one().wantMark(t, "snapshot_end")
		r.sql("UPDATE dbo.k SET v = N'new' WHERE id = 2")
		after, changed := arrowRows(t, run.one())
		wantTexts(t, "the change", arrowTexts(after, "id", "v", "__$operation"), "2 new update")
		if !schema.Equal(changed) {
			t.Errorf("the snapshot has the schema %v, the stream %v", schema, changed)
		}
	})
}

// A body is never above 900 KB, unless one row alone is. Nothing is lost, doubled or out of order, and the rows of an update stay together.
func TestCDCArrowCap(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.sql("EXEC sp_configure N'max text repl size', -1; RECONFIGURE")
		r.table("k", "id int NOT NULL PRIMARY KEY, v varchar(8000) NULL, big varchar(max) NULL")
		r.sql("SET NOCOUNT ON; BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 300 BEGIN INSERT dbo.k VALUES (@i, REPLICATE('x', (@i % 3) * 3500), NULL); SET @i += 1 END; COMMIT")
		r.sql("BEGIN TRAN; UPDATE dbo.k SET v = REPLICATE('y', 7000) WHERE id < 150; INSERT dbo.k VALUES (1000, 'x', REPLICATE(CAST('z' AS varchar(max)), 950000)); DELETE dbo.k WHERE id = 299; COMMIT")
		run := r.start("format: arrow\nbefore_image: message\nbatching: {count: 10000, byte_size: 100000000}\ncheckpoint_limit: 100000")
		var ids []string
		large := 0
		for n := 0; n < 602; {
			for _, m := range run.batch() {
				rows, _ := arrowRows(t, m)
				n += len(rows)
				if len(m.body) > 900_000 {
					large++
					if len(rows) != 1 || rows[0]["id"] != "1000" {
						t.Errorf("a body of %d bytes with %d rows", len(m.body), len(rows))
					}
				}
				if last := rows[len(rows)-1]; last["__$operation"] == "update_before" {
					t.Errorf("a message ends inside of an update")
				}
				ids = append(ids, arrowTexts(rows, "__$event_id")...)
			}
		}
		if large != 1 {
			t.Errorf("%d messages are larger than a record, want the one of the large row", large)
		}
		for i := 1; i < len(ids); i++ {
			if ids[i] <= ids[i-1] {
				t.Fatalf("%s follows %s", ids[i], ids[i-1])
			}
		}
		if len(ids) != 602 {
			t.Errorf("%d rows, want 602", len(ids))
		}
	})
}

// A value without a place in its exported type stops its table, with an error that tells where it is.
func TestCDCArrowValueThatDoesNotFit(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, at datetime2(7) NULL")
		r.table("other", "id int NOT NULL PRIMARY KEY")
		run := r.start("format: arrow")
		r.sql("INSERT dbo.k VALUES (1, '2262-04-11T23:47:16.8547758'), (2, '9999-12-31T23:59:59.9999999'); INSERT dbo.other VALUES (7)")
		m := run.one()
		if m.text("table") != "other" {
			t.Errorf("got %v", m.meta)
		}
		run.logs("row 2 of dbo.k: column at (datetime2(7)): 9999-12-31T23:59:59.9999999 does not fit timestamp[ns]")
	})
}

func TestCDCArrowWithoutAKey(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("h", "a int NULL")
		r.sql("INSERT dbo.h VALUES (1), (1)")
		rows, _ := arrowRows(t, r.start("format: arrow").one())
		wantTexts(t, "rows", arrowTexts(rows, "a", "__$key", "__$unchanged_columns"), "1 (null) []", "1 (null) []")
	})
}

// A batch that is refused comes again as it was.
func TestCDCArrowIsGivenOutAgain(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", arrowColumns)
		arrowChanges(r)
		run := r.start("format: arrow")
		batch, ack := run.read()
		first := newCDCMessages(t, batch)
		ack(errCDCStopped)
		again := run.batch()
		if len(first) != 1 || len(again) != 1 || first[0].body != again[0].body {
			t.Errorf("%d messages came, then %d, and they differ", len(first), len(again))
		}
	})
}

func TestCDCArrowGlobalOrder(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		r.table("b", "id int NOT NULL PRIMARY KEY")
		r.sql("BEGIN TRAN; INSERT dbo.a VALUES (1), (2); INSERT dbo.b VALUES (3); INSERT dbo.a VALUES (4); COMMIT")
		var got []string
		for _, m := range r.start("format: arrow\nordering: global").batch() {
			rows, _ := arrowRows(t, m)
			for _, row := range rows {
				got = append(got, m.text("table")+" "+row["id"])
			}
		}
		wantTexts(t, "rows", got, "a 1", "a 2", "b 3", "a 4")
	})
}
