package snapshot_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

const digits = "WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS x(v)) "

func TestCompositeKeysGoInTheOrderOfTheirIndex(t *testing.T) {
	for _, tt := range []struct {
		name, columns, key, order string
	}{
		{"two columns", "a int NOT NULL, b int NOT NULL, c int NOT NULL", "PRIMARY KEY (a, b, c)", "a, b, c"},
		{"another order", "a int NOT NULL, b int NOT NULL, c int NOT NULL", "PRIMARY KEY (c, a, b)", "c, a, b"},
		{"descending", "a int NOT NULL, b int NOT NULL, c int NOT NULL", "PRIMARY KEY (a DESC, b, c DESC)", "a DESC, b, c DESC"},
		{"text", "a varchar(10) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL, b datetime NOT NULL, c bit NOT NULL, d int NOT NULL", "PRIMARY KEY (b, a DESC, c, d)", "b, a DESC, c, d"},
		{"nonclustered on a heap", "a int NOT NULL, b int NOT NULL, c int NOT NULL", "PRIMARY KEY NONCLUSTERED (b, c, a)", "b, c, a"},
		{"unique index beside a clustered one", "a int NOT NULL, b int NOT NULL, c int NOT NULL, INDEX cx CLUSTERED (c)", "UNIQUE (b, a, c)", "b, a, c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.k ("+tt.columns+", n int IDENTITY, CONSTRAINT [the key] "+tt.key+")", fmt.Sprintf(enable, "k"))
			values := digits + "INSERT dbo.k (a, b, c) SELECT x.v % 3, y.v % 4, z.v % 5 FROM d x CROSS JOIN d y CROSS JOIN d z WHERE x.v < 3 AND y.v < 4 AND z.v < 5"
			if tt.name == "text" {
				values = digits + "INSERT dbo.k (a, b, c, d) SELECT CASE x.v WHEN 0 THEN 'co-op' WHEN 1 THEN 'coop' ELSE 'É' END, DATEADD(ms, y.v * 4, '2024-01-01'), z.v % 2, z.v FROM d x CROSS JOIN d y CROSS JOIN d z WHERE x.v < 3 AND y.v < 4 AND z.v < 5"
			}
			l.exec(values)
			var want []string
			for _, row := range l.query("SELECT n FROM dbo.k ORDER BY " + tt.order) {
				want = append(want, row[0])
			}
			r := l.reader("dbo_k", snapshot.Options{})
			if r.Keyless() {
				t.Fatal("there is a key")
			}
			for _, n := range []int{1, 7, 1000} {
				diff(t, ids(t, l.all(r, n, snapshot.Limits{Rows: 4})), want)
			}
			// Any two keys give what is between them, also in the wrong order.
			var keys []snapshot.Key
			for after := (snapshot.Key{}); ; {
				k, last := l.bound(r, after, 11, l.handover(r).LSN)
				keys = append(keys, k)
				if after = k; last {
					break
				}
			}
			at := func(i int) int {
				if i < 0 {
					return 0
				}
				return min(11*(i+1), len(want))
			}
			for i := -1; i < len(keys); i++ {
				for j := -1; j <= len(keys); j++ {
					var after, upto snapshot.Key
					from, to := at(i), len(want)
					if i >= 0 {
						after = keys[i]
					}
					if j >= 0 && j < len(keys) {
						upto, to = keys[j], at(j)
					}
					if j < 0 && i < 0 {
						continue
					}
					got := ids(t, l.chunk(r, after, upto, l.handover(r).LSN, snapshot.Limits{Rows: 50}))
					if !slices.Equal(got, want[from:max(from, to)]) {
						t.Errorf("after key %d up to key %d: got %v, want %v", i, j, got, want[from:max(from, to)])
					}
				}
			}
			l.quiet()
		})
	}
}

func TestChunksAreReadInLinearWork(t *testing.T) {
	const rows = 10_000
	for _, on := range []bool{true, false} {
		for _, key := range []string{"PRIMARY KEY (a)", "PRIMARY KEY (c, b DESC, a)", "PRIMARY KEY (s)"} {
			t.Run(fmt.Sprintf("%s, SNAPSHOT %v", key, on), func(t *testing.T) {
				l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.g (a int NOT NULL, b int NOT NULL, c int NOT NULL, s varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL, v nvarchar(50), "+key+")",
					fmt.Sprintf(enable, "g"),
					digits+"INSERT dbo.g SELECT a.v + 10*b.v + 100*c.v + 1000*e.v, a.v, b.v, CONCAT('x-', a.v, b.v, c.v, e.v), REPLICATE(N'x', 50) FROM d a CROSS JOIN d b CROSS JOIN d c CROSS JOIN d e")
				if on {
					l.exec(snapshotOn)
				}
				r := l.reader("dbo_g", snapshot.Options{})
				if want := map[bool]snapshot.Isolation{true: snapshot.Snapshot, false: snapshot.ReadCommitted}[on]; r.Isolation() != want {
					t.Errorf("isolation %v, want %v", r.Isolation(), want)
				}
				if r.Rows() != rows {
					t.Errorf("about %d rows, want %d", r.Rows(), rows)
				}
				handover := l.handover(r).LSN
				const chunk = 2500
				l.Control().RecordStatements(true)
				var bounds []snapshot.Key
				for after := (snapshot.Key{}); ; {
					k, last := l.bound(r, after, chunk, handover)
					if after = k; last {
						break
					}
					bounds = append(bounds, k)
				}
				if n := l.work(); len(bounds) != 4 || n > rows*21/10 {
					t.Errorf("%d rows examined for %d bounds", n, len(bounds))
				}
				bounds = append(bounds, snapshot.Key{})
				l.Control().RecordStatements(true)
				var after snapshot.Key
				count := 0
				for _, upto := range bounds {
					count += len(l.chunk(r, after, upto, handover, snapshot.Limits{Rows: 1000}))
					after = upto
				}
				if n := l.work(); count != rows || n > rows*11/10 {
					t.Errorf("%d rows examined for %d rows of %d", n, count, rows)
				}
				l.quiet()
			})
		}
	}
}

// work is how many rows the server has gone over.
func (l *lab) work() (n int64) {
	for _, s := range l.Control().Statements() {
		n += s.RowsExamined
	}
	return n
}

func TestPagesAreBoundedInBytes(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.w (n int PRIMARY KEY, v varbinary(max))", fmt.Sprintf(enable, "w"),
		digits+"INSERT dbo.w SELECT a.v + 10*b.v, CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'x'), 60000)) FROM d a CROSS JOIN d b WHERE b.v < 5")
	r := l.reader("dbo_w", snapshot.Options{})
	handover := l.handover(r).LSN
	var after snapshot.Key
	var got []string
	pages := 0
	for {
		p, err := r.Read(t.Context(), after, snapshot.Key{}, handover, snapshot.Limits{Bytes: 1_000_000})
		if err != nil {
			t.Fatal(err)
		}
		if p.Bytes > 1_100_000 || !p.Done && p.Bytes < 1_000_000 {
			t.Errorf("a page of %d bytes", p.Bytes)
		}
		got = append(got, ids(t, bodies(t, p.Record))...)
		pages++
		after = p.Next
		p.Release()
		if l.quiet(); p.Done {
			break
		}
	}
	diff(t, got, numbers("", 0, 49))
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
}

func TestEmptyTablesAndEnds(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.e (n int PRIMARY KEY)", fmt.Sprintf(enable, "e"))
	r := l.reader("dbo_e", snapshot.Options{})
	handover := l.handover(r).LSN
	key, last := l.bound(r, snapshot.Key{}, 10, handover)
	if !key.IsZero() || !last {
		t.Errorf("Bound of an empty table: %s, %v", key, last)
	}
	p, err := r.Read(t.Context(), snapshot.Key{}, key, handover, snapshot.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Rows != 0 || !p.Done || p.Record != nil || !p.Next.IsZero() || p.ReadAt.IsZero() {
		t.Errorf("page of an empty table: %+v", p)
	}
	p.Retain()
	p.Release()

	l.exec("INSERT dbo.e VALUES (1), (2), (3)")
	if key, last = l.bound(r, snapshot.Key{}, 3, handover); last {
		t.Error("the third of three rows is not known to be the last")
	}
	next, last := l.bound(r, key, 3, handover)
	if !last || !next.Equal(key) {
		t.Errorf("after the last row: %s, %v, want %s", next, last, key)
	}
	if got := l.chunk(r, key, next, handover, snapshot.Limits{}); len(got) > 0 {
		t.Errorf("rows after the last: %v", got)
	}
}

func TestASnapshotGoesOnFromAStoredKey(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.s (k varchar(10) COLLATE Japanese_CI_AS NOT NULL, n int NOT NULL, INDEX ux UNIQUE CLUSTERED (k, n))", fmt.Sprintf(enable, "s"),
		digits+"INSERT dbo.s SELECT CASE b.v WHEN 0 THEN N'ソ' WHEN 1 THEN N'表' ELSE N'十' END, a.v + 10 * b.v FROM d a CROSS JOIN d b WHERE b.v < 3")
	r := l.reader("dbo_s", snapshot.Options{})
	handover := l.handover(r)
	whole := l.chunk(r, snapshot.Key{}, snapshot.Key{}, handover.LSN, snapshot.Limits{})
	upto, _ := l.bound(r, snapshot.Key{}, 17, handover.LSN)
	first := l.chunk(r, snapshot.Key{}, upto, handover.LSN, snapshot.Limits{})
	text := upto.String()

	// Another process, with nothing but the text and the position.
	l.conn = l.open(l.ConnString())
	r = l.reader("dbo_s", snapshot.Options{})
	after, err := snapshot.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, append(first, l.chunk(r, after, snapshot.Key{}, handover.LSN, snapshot.Limits{})...), whole)

	// A clone reads at the same time on its own connection.
	clone, err := r.Clone(l.open(l.ConnString()))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, append(l.chunk(r, snapshot.Key{}, after, handover.LSN, snapshot.Limits{}), l.chunk(clone, after, snapshot.Key{}, handover.LSN, snapshot.Limits{})...), whole)
	r.Use(l.open(l.ConnString()))
	diff(t, l.chunk(r, snapshot.Key{}, snapshot.Key{}, handover.LSN, snapshot.Limits{}), whole)

	// The key is another one now.
	l.exec("DROP INDEX ux ON dbo.s; CREATE UNIQUE INDEX another ON dbo.s (n)")
	if _, err := r.Read(t.Context(), snapshot.Key{}, after, handover.LSN, snapshot.Limits{}); !as[*snapshot.GoneError](err) {
		t.Errorf("a reader whose index is gone: %v", err)
	}
	r = l.reader("dbo_s", snapshot.Options{})
	for _, f := range []func() error{
		func() error {
			_, err := r.Read(t.Context(), after, snapshot.Key{}, handover.LSN, snapshot.Limits{})
			return err
		},
		func() error {
			_, err := r.Read(t.Context(), snapshot.Key{}, after, handover.LSN, snapshot.Limits{})
			return err
		},
		func() error { _, _, err := r.Bound(t.Context(), after, 1, handover.LSN); return err },
	} {
		err := f()
		if !as[*snapshot.KeyError](err) || !strings.Contains(err.Error(), "k varchar(10) COLLATE Japanese_CI_AS, n int") || !strings.Contains(err.Error(), "start the snapshot of the table anew") {
			t.Errorf("a key of another index: %v", err)
		}
	}
}

func as[T error](err error) bool {
	var want T
	return errors.As(err, &want)
}

func TestOddNames(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE SCHEMA [my schema]",
		"CREATE TABLE [my schema].[Or'der ]]$1.x]([my col$a] int, [a]]b] int, [名前] nvarchar(10) NOT NULL, [select] int NOT NULL, n int IDENTITY, CONSTRAINT [p'k ]]1] PRIMARY KEY ([名前] DESC, [select]))",
		"EXEC sys.sp_cdc_enable_table N'my schema', N'Or''der ]$1.x', @capture_instance = N'i ]''1', @role_name = NULL",
		"INSERT [my schema].[Or'der ]]$1.x] VALUES (1, 2, N'あ', 1), (1, 2, N'あ', 2), (3, 4, N'い', 1)")
	r := l.reader("i ]'1", snapshot.Options{Filter: "t.[a]]b] IS NOT NULL"})
	if s, o := r.Source(); s != "my schema" || o != "Or'der ]$1.x" || r.Capture() != "i ]'1" {
		t.Errorf("source %q.%q of %q", s, o, r.Capture())
	}
	diff(t, l.all(r, 1, snapshot.Limits{Rows: 1}), []string{
		`{"my col$a":3,"a]b":4,"名前":"い","select":1,"n":3}`,
		`{"my col$a":1,"a]b":2,"名前":"あ","select":1,"n":1}`,
		`{"my col$a":1,"a]b":2,"名前":"あ","select":2,"n":2}`,
	})
	if !slices.Equal(r.Key(), []int{2, 3}) {
		t.Errorf("key %v", r.Key())
	}
}

func TestWhichKeyChunksGoBy(t *testing.T) {
	for _, tt := range []struct {
		name, table string
		keyless     bool
		key         string // in the text of a key
	}{
		{"primary key before unique index", "a int NOT NULL UNIQUE, b int NOT NULL, c int NOT NULL, PRIMARY KEY (b, c)", false, `"name":"b"`},
		{"unique index", "a int NOT NULL UNIQUE, b int", false, `"name":"a"`},
		{"the narrower of two", "a int NOT NULL, b int NOT NULL, UNIQUE CLUSTERED (a, b), UNIQUE (b)", false, `"name":"b"`},
		{"a unique index over what can be NULL", "a int NULL UNIQUE, b int", true, ""},
		{"a unique index with a filter", "a int NOT NULL, b int, INDEX ux UNIQUE (a) WHERE a > 0", true, ""},
		{"an index that is not unique", "a int NOT NULL, b int, INDEX ix (a)", true, ""},
		{"none", "a int NOT NULL, b int", true, ""},
		{"a variant", "a sql_variant NOT NULL PRIMARY KEY, b int", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.t ("+tt.table+")", fmt.Sprintf(enable, "t"))
			l.exec("INSERT dbo.t (" + map[bool]string{false: "a, b", true: "a, b, c"}[strings.Contains(tt.table, " c ")] + ") VALUES (1, 2" + map[bool]string{true: ", 3"}[strings.Contains(tt.table, " c ")] + ")")
			r := l.reader("dbo_t", snapshot.Options{})
			if r.Keyless() != tt.keyless {
				t.Fatalf("keyless %v", r.Keyless())
			}
			if tt.keyless {
				if _, _, err := r.Bound(t.Context(), snapshot.Key{}, 1, l.handover(r).LSN); err == nil {
					t.Error("a bound without a key")
				}
				return
			}
			if k, _ := l.bound(r, snapshot.Key{}, 1, l.handover(r).LSN); !strings.Contains(k.String(), `"columns":[{`+tt.key) {
				t.Errorf("key %s", k)
			}
		})
	}
}

func TestSnapshotIsolationIsTurnedOffMeanwhile(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.o (n int PRIMARY KEY)", fmt.Sprintf(enable, "o"), "INSERT dbo.o VALUES (1), (2), (3)")
	r, strict := l.reader("dbo_o", snapshot.Options{}), l.reader("dbo_o", snapshot.Options{Isolation: snapshot.Snapshot})
	handover := l.handover(r).LSN
	l.chunk(r, snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{})
	l.exec(strings.Replace(snapshotOn, " ON", " OFF", 1))
	if _, err := strict.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{}); !session.HasNumber(err, 3952) {
		t.Errorf("a reader that insists: %v", err)
	}
	if got := l.chunk(r, snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{}); len(got) != 3 || r.Isolation() != snapshot.ReadCommitted {
		t.Errorf("%d rows, isolation %v", len(got), r.Isolation())
	}
	if got := l.all(r, 1, snapshot.Limits{}); len(got) != 3 {
		t.Errorf("%d rows", len(got))
	}
	// The session itself reads what it likes.
	if _, err := l.conn.QueryRow(t.Context(), "SELECT COUNT(*) FROM dbo.o", ""); err != nil {
		t.Errorf("the session afterwards: %v", err)
	}
	if _, err := snapshot.Open(t.Context(), l.conn, "dbo_o", snapshot.Options{Isolation: snapshot.Snapshot}); err == nil || !strings.Contains(err.Error(), "ALLOW_SNAPSHOT_ISOLATION ON") {
		t.Errorf("SNAPSHOT where it is not allowed: %v", err)
	}
}
