package bulkload_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// rows makes a batch from JSON objects.
func rows(t testing.TB, mem memory.Allocator, fields []arrow.Field, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(mem, arrow.NewSchema(fields, nil), strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

var (
	i32  = arrow.PrimitiveTypes.Int32
	text = arrow.BinaryTypes.String
)

func TestColumnsOfTheServersOwn(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, `CREATE TABLE dbo.own (id int IDENTITY(100,1) PRIMARY KEY, a int NOT NULL, b int NULL DEFAULT 7, c AS (a + 1), rv rowversion,
		f datetime2 GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, u datetime2 GENERATED ALWAYS AS ROW END HIDDEN NOT NULL, PERIOD FOR SYSTEM_TIME (f, u))`)
	for _, way := range ways {
		if way.encryption != "off" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			conn := open(t, srv, "off", way.mode)
			mem := checked(t)
			for _, tt := range []struct {
				name   string
				fields []arrow.Field
				json   string
				want   string
			}{
				{"left out", []arrow.Field{field("a", i32)}, `[{"a":1}]`, "100|1|7|2"},
				{"identity kept", []arrow.Field{field("id", i32), field("a", i32), field("b", i32)}, `[{"id":10,"a":1,"b":null}]`, "10|1|NULL|2"},
				{"names in another case and order", []arrow.Field{field("B", i32), field("A", i32), field("ID", i32)}, `[{"ID":20,"A":1,"B":2}]`, "20|1|2|2"},
			} {
				t.Run(tt.name, func(t *testing.T) {
					rec := rows(t, mem, tt.fields, tt.json)
					defer rec.Release()
					res, err := load(t, conn, "own", rec, bulkload.Options{})
					if err != nil || res.Rows != 1 {
						t.Fatalf("Load: %+v, %v", res, err)
					}
					if got := texts(t, conn, "SELECT id, a, b, c FROM dbo.own WHERE rv IS NOT NULL AND f IS NOT NULL"); !slices.Equal(got, []string{tt.want}) {
						t.Errorf("stored %q, want %q", got, tt.want)
					}
					exec(t, srv, "DELETE FROM dbo.own; DBCC CHECKIDENT ('dbo.own', RESEED, 99)")
				})
			}
		})
	}
	conn := open(t, srv, "off", session.RawAuto)
	schema := arrow.NewSchema([]arrow.Field{field("a", arrow.BinaryTypes.Binary), field("c", i32), field("RV", arrow.BinaryTypes.Binary), field("f", i32), field("nowhere", i32), field("A", i32)}, nil)
	_, err := bulkload.NewPlan(target(t, conn, "own"), schema, bulkload.Options{Hints: []string{"NOLOCK"}})
	for _, want := range []string{
		"planning a bulk load of dbo.own", "column a: a field of type binary cannot be stored in int", "column c: it is computed", "leave the field out",
		"column rv: it is a rowversion", "column f: it is GENERATED ALWAYS", "field nowhere: the table has no column", "fields a and A are both for column a", `hint "NOLOCK"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewPlan: %v\nwant %q in it", err, want)
		}
	}
	schema = arrow.NewSchema([]arrow.Field{field("b", i32)}, nil)
	if _, err := bulkload.NewPlan(target(t, conn, "own"), schema, bulkload.Options{}); err == nil || !strings.Contains(err.Error(), "column a: it is NOT NULL, has no default and no field") {
		t.Errorf("NewPlan without a: %v", err)
	}
	if _, err := bulkload.LoadTarget(t.Context(), conn, catalog.Name{Schema: "dbo", Object: "nowhere"}); err == nil || !strings.Contains(err.Error(), "dbo.nowhere: it does not exist") {
		t.Errorf("LoadTarget: %v", err)
	}
}

func TestBadRowsAreCutOutAndTheRestIsStored(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			srv := mssqltest.Start(t, mssqltest.Config{Encryption: way.encryption})
			exec(t, srv, "CREATE TABLE dbo.v (id int NOT NULL, v tinyint NOT NULL, s varchar(3) NULL)")
			conn := open(t, srv, way.encryption, way.mode)
			mem := checked(t)
			const n = 30_000 // many chunks
			ids, vs, ss := array.NewInt32Builder(mem), array.NewInt32Builder(mem), array.NewStringBuilder(mem)
			defer ids.Release()
			defer vs.Release()
			defer ss.Release()
			for i := range n {
				ids.Append(int32(i))
				ss.Append("abc")
				switch {
				case i%1000 == 500:
					vs.Append(300)
				case i%1000 == 501:
					vs.AppendNull()
				default:
					vs.Append(int32(i % 256))
				}
			}
			arrs := []arrow.Array{ids.NewArray(), vs.NewArray(), ss.NewArray()}
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("id", i32), field("v", i32), field("s", text)}, nil), arrs, n)
			defer rec.Release()
			for _, a := range arrs {
				a.Release()
			}
			res, err := load(t, conn, "v", rec, bulkload.Options{})
			if err != nil || res.Rows != n-60 || len(res.Bad) != 60 {
				t.Fatalf("Load: %d rows, %d bad, %v", res.Rows, len(res.Bad), err)
			}
			if got := res.Bad[1].Error(); got != "row 501: column v: NULL, and the column is NOT NULL" {
				t.Errorf("error %q", got)
			}
			var re *bulkload.RowError
			if !errors.As(error(&res.Bad[0]), &re) || re.Row != 500 {
				t.Errorf("row error %+v", res.Bad[0])
			}
			if got := texts(t, conn, "SELECT COUNT(*), SUM(CASE WHEN id % 1000 IN (500, 501) THEN 1 ELSE 0 END), SUM(id) FROM dbo.v"); got[0] != fmt.Sprintf("%d|0|%d", n-60, n*(n-1)/2-30*(500+501)-2*1000*(29*30/2)) {
				t.Errorf("stored %q", got)
			}
			// Nothing but bad rows is no load.
			bad := rows(t, mem, []arrow.Field{field("id", i32), field("v", i32)}, `[{"id":1,"v":-1}]`)
			defer bad.Release()
			if res, err := load(t, conn, "v", bad, bulkload.Options{}); err != nil || res.Rows != 0 || len(res.Bad) != 1 {
				t.Errorf("Load of a bad row: %+v, %v", res, err)
			}
		})
	}
}

func TestHints(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, `CREATE TABLE dbo.h (id int NOT NULL PRIMARY KEY, v int NULL DEFAULT 7, CONSTRAINT small CHECK (id < 100))`)
	fields := []arrow.Field{field("id", i32), field("v", i32)}
	for _, way := range ways {
		if way.encryption != "off" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			conn := open(t, srv, "off", way.mode)
			mem := checked(t)
			for _, tt := range []struct {
				name, json string
				hints      []string
				number     int32
				stored     string
			}{
				{"default", `[{"id":1}]`, nil, 0, "1|NULL"},
				{"default checks", `[{"id":100}]`, nil, 547, ""},
				{"none", `[{"id":100}]`, []string{}, 0, "100|7"},
				{"check only", `[{"id":1}]`, []string{"CHECK_CONSTRAINTS"}, 0, "1|7"},
				{"check only checks", `[{"id":100}]`, []string{"check_constraints"}, 547, ""},
				{"keep nulls only", `[{"id":100}]`, []string{"KEEP_NULLS"}, 0, "100|NULL"},
				{"all", `[{"id":1},{"id":2}]`, []string{"CHECK_CONSTRAINTS", "FIRE_TRIGGERS", "KEEP_NULLS", "TABLOCK", "ROWS_PER_BATCH = 2", "KILOBYTES_PER_BATCH=1", "ORDER(id, [v] DESC)"}, 0, "1|NULL,2|NULL"},
			} {
				t.Run(tt.name, func(t *testing.T) {
					rec := rows(t, mem, fields, tt.json)
					defer rec.Release()
					_, err := load(t, conn, "h", rec, bulkload.Options{Hints: tt.hints})
					if n, _ := session.Number(err); n != tt.number {
						t.Errorf("Load: %v, want %d", err, tt.number)
					}
					if got := strings.Join(texts(t, conn, "SELECT id, v FROM dbo.h ORDER BY id"), ","); got != tt.stored {
						t.Errorf("stored %q, want %q", got, tt.stored)
					}
					exec(t, srv, "DELETE FROM dbo.h")
				})
			}
		})
	}
	h, err := bulkload.ParseHints([]string{"ORDER([a]]b] desc, c)"})
	if err != nil || !slices.Equal(h.Order, []string{"[a]]b] DESC", "[c] ASC"}) || h.FireTriggers {
		t.Errorf("ParseHints: %+v, %v", h, err)
	}
	for _, hint := range []string{"", "ROWS_PER_BATCH = 0", "ROWS_PER_BATCH = x", "ORDER()", "ORDER(a", "ORDER(a b)", "ORDER([a)", "ORDER(a,)", "KEEP_IDENTITY"} {
		if _, err := bulkload.ParseHints([]string{hint}); err == nil {
			t.Errorf("ParseHints accepts %q", hint)
		}
	}
}

func TestHintsAreInTheStatement(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, "CREATE TABLE dbo.h (id int NOT NULL PRIMARY KEY)")
	var seen []string
	srv.Control().Add(mssqltest.Rule{Kind: "bulk", Before: func(e mssqltest.Event) { seen = append(seen, e.Text) }})
	for _, tt := range []struct {
		hints []string
		want  string
	}{
		{nil, "WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS)"},
		{[]string{}, "([id] int)"},
		{[]string{"FIRE_TRIGGERS"}, "WITH (FIRE_TRIGGERS)"},
		{[]string{"KILOBYTES_PER_BATCH = 5"}, "WITH (KILOBYTES_PER_BATCH = 5)"},
		{[]string{"TABLOCK", "ROWS_PER_BATCH = 10", "ORDER(id)"}, "WITH (ROWS_PER_BATCH = 10, ORDER([id] ASC), TABLOCK)"},
	} {
		for _, mode := range []session.RawMode{session.RawRequire, session.RawOff} {
			seen = nil
			conn := open(t, srv, "off", mode)
			rec := rows(t, checked(t), []arrow.Field{field("id", i32)}, `[{"id":1}]`)
			if _, err := load(t, conn, "h", rec, bulkload.Options{Hints: tt.hints}); err != nil {
				t.Fatal(err)
			}
			rec.Release()
			// The driver writes no blanks between the hints.
			plain := strings.ReplaceAll
			if len(seen) != 1 || !strings.HasSuffix(strings.TrimSpace(plain(seen[0], " ", "")), plain(tt.want, " ", "")) {
				t.Errorf("hints %q by %s: the server saw %q, want %q at its end", tt.hints, mode, seen, tt.want)
			}
			exec(t, srv, "DELETE FROM dbo.h")
		}
	}
}

func TestNaNByPolicy(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, `CREATE TABLE dbo.v (id int NOT NULL, v float NULL, w real NOT NULL, x decimal(9,2) NULL)`)
	conn := open(t, srv, "off", session.RawRequire)
	mem := checked(t)
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{field("id", i32), field("v", arrow.PrimitiveTypes.Float64), field("w", arrow.PrimitiveTypes.Float32), field("x", arrow.PrimitiveTypes.Float64)}, nil))
	defer b.Release()
	nan, inf := 0.0, 1e300
	nan, inf = nan/nan, inf*inf
	for i, v := range [][3]float64{{1, 1, 1}, {nan, 1, 1}, {1, nan, 1}, {-inf, 1, nan}, {1, inf, 1}} {
		b.Field(0).(*array.Int32Builder).Append(int32(i))
		b.Field(1).(*array.Float64Builder).Append(v[0])
		b.Field(2).(*array.Float32Builder).Append(float32(v[1]))
		b.Field(3).(*array.Float64Builder).Append(v[2])
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	for _, tt := range []struct {
		allow bool
		want  string
	}{{false, "0|1|1.00"}, {true, "0|1|1.00,1|NULL|1.00,3|NULL|NULL"}} {
		res, err := load(t, conn, "v", rec, bulkload.Options{Lossy: bulkload.Lossy{NaN: tt.allow}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(texts(t, conn, "SELECT id, v, CONVERT(nvarchar(20), x) FROM dbo.v ORDER BY id"), ","); got != tt.want {
			t.Errorf("NaN allowed %v: stored %q, want %q; bad %v", tt.allow, got, tt.want, res.Bad)
		}
		exec(t, srv, "DELETE FROM dbo.v")
	}
}

func TestACountThatDiffersIsAnError(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, "CREATE TABLE dbo.v (id int NOT NULL)")
	exec(t, srv, "CREATE UNIQUE INDEX u ON dbo.v (id) WITH (IGNORE_DUP_KEY = ON)")
	conn := open(t, srv, "off", session.RawRequire)
	rec := rows(t, checked(t), []arrow.Field{field("id", i32)}, `[{"id":1},{"id":1}]`)
	defer rec.Release()
	res, err := load(t, conn, "v", rec, bulkload.Options{})
	switch {
	case session.HasNumber(err, 2601):
		t.Skip("the stand-in has no IGNORE_DUP_KEY")
	case err == nil || !strings.Contains(err.Error(), "2 rows were sent, and the server counts 1"):
		t.Errorf("Load: %+v, %v", res, err)
	}
}

func TestInsertForWhatTheDriversBulkCannotSend(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, `CREATE TABLE dbo.x (id int IDENTITY PRIMARY KEY, x xml NULL, v int NULL DEFAULT 7, s varchar(9) COLLATE Cyrillic_General_CI_AS NULL,
		b varbinary(4) NULL, d datetime NULL, n decimal(9,2) NULL, CONSTRAINT small CHECK (v < 100))`)
	fields := []arrow.Field{
		field("id", i32), field("x", text), field("v", i32), field("s", text), field("b", arrow.BinaryTypes.Binary),
		field("d", &arrow.TimestampType{Unit: arrow.Millisecond}), field("n", &arrow.Decimal128Type{Precision: 9, Scale: 2}),
	}
	conn := open(t, srv, "off", session.RawOff)
	mem := checked(t)
	const one = `{"id":5,"x":"<a/>","v":null,"s":"Привет","b":"3q0=","d":"2024-02-29 12:00:00.997","n":"1.25"}`
	const selection = "SELECT id, CONVERT(nvarchar(99), x), v, s, CONVERT(varchar(20), b, 1), CONVERT(varchar(30), d, 126), CONVERT(varchar(20), n) FROM dbo.x"
	for _, tt := range []struct {
		name, json string
		hints      []string
		number     int32
		want       string
	}{
		{"all", "[" + one + "]", nil, 0, "5|<a/>|NULL|Привет|0xDEAD|2024-02-29T12:00:00.997|1.25"},
		{"default for NULL", "[" + one + "]", []string{"CHECK_CONSTRAINTS", "FIRE_TRIGGERS"}, 0, "5|<a/>|7|Привет|0xDEAD|2024-02-29T12:00:00.997|1.25"},
		{"NULLs", `[{"id":6}]`, nil, 0, "6|NULL|NULL|NULL|NULL|NULL|NULL"},
		{"check", `[{"id":6},{"id":7,"v":100}]`, nil, 547, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := rows(t, mem, fields, tt.json)
			defer rec.Release()
			_, err := load(t, conn, "x", rec, bulkload.Options{Hints: tt.hints})
			if n, _ := session.Number(err); n != tt.number || tt.number == 0 && err != nil {
				t.Fatalf("Load: %v", err)
			}
			if got := strings.Join(texts(t, conn, selection), ","); got != tt.want {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
			exec(t, srv, "DELETE FROM dbo.x")
		})
	}
	rec := rows(t, mem, fields, "["+one+"]")
	defer rec.Release()
	if _, err := load(t, conn, "x", rec, bulkload.Options{Hints: []string{}}); err == nil || !strings.Contains(err.Error(), "raw_tds is not in use") {
		t.Errorf("Load without checks: %v", err)
	}
}

// TestALoginThatMayOnlySelectAndInsert loads with the default hints.
func TestALoginThatMayOnlySelectAndInsert(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, "CREATE TABLE dbo.g (id int NOT NULL)")
	exec(t, srv, "CREATE LOGIN low WITH PASSWORD = 'Passw0rd!'; CREATE USER low FOR LOGIN low; GRANT SELECT, INSERT ON dbo.g TO low")
	dsn := strings.Replace(srv.ConnString("encrypt=disable"), "sqlserver://sa:", "sqlserver://low:", 1)
	conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: srv.DialContext, RawTDS: session.RawRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	rec := rows(t, checked(t), []arrow.Field{field("id", i32)}, `[{"id":1}]`)
	defer rec.Release()
	if res, err := load(t, conn, "g", rec, bulkload.Options{}); err != nil || res.Rows != 1 {
		t.Errorf("Load: %+v, %v", res, err)
	}
}
