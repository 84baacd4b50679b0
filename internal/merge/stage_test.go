package merge

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// connect makes a server with tables, and a connection to it.
func connect(t *testing.T, script string) (*mssqltest.Server, *session.Conn) {
	t.Helper()
	srv, err := mssqltest.New(mssqltest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	if err := srv.ListenMemory(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Exec(script); err != nil {
		t.Fatal(err)
	}
	conn, err := session.Open(context.Background(), session.Config{ConnectionString: srv.ConnString("encrypt=disable"), Dial: srv.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return srv, conn
}

func target(t *testing.T, conn *session.Conn, table string) *bulkload.Target {
	t.Helper()
	target, err := bulkload.LoadTarget(t.Context(), conn, catalog.Name{Schema: "dbo", Object: table})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// The key is the primary key, else the first unique index that can be one: over columns that are not NULL, of all rows, and enabled.
func TestLoadKey(t *testing.T) {
	_, conn := connect(t, `CREATE TABLE dbo.p (a int NOT NULL UNIQUE, b int NOT NULL, c int NOT NULL, CONSTRAINT pk PRIMARY KEY (c, b));
CREATE TABLE dbo.u (a int NULL UNIQUE, b int NOT NULL, c int NOT NULL, d AS b + 1 PERSISTED NOT NULL);
CREATE UNIQUE INDEX i1 ON dbo.u (b) WHERE c > 0; CREATE UNIQUE INDEX i2 ON dbo.u (d); CREATE UNIQUE INDEX i3 ON dbo.u (c, b) INCLUDE (a);
CREATE TABLE dbo.n (a int NULL UNIQUE, b int)`)
	for _, tt := range []struct {
		table, named, want string
		unique             bool
	}{
		{"p", "", "c, b", true}, {"p", "a", "a", true}, {"p", "b,c", "b, c", true}, {"p", "b", "b", false},
		{"u", "", "c, b", true}, {"u", "a", "a", false}, {"n", "", "", false}, {"n", "a,b", "a, b", false},
	} {
		var named []string
		if tt.named != "" {
			named = strings.Split(tt.named, ",")
		}
		tg := target(t, conn, tt.table)
		k, err := LoadKey(t.Context(), conn, tg, named)
		if err != nil || k.Names(tg) != tt.want || k.Unique != tt.unique {
			t.Errorf("%s by %q: %q, unique %t, %v; want %q, %t", tt.table, tt.named, k.Names(tg), k.Unique, err, tt.want, tt.unique)
		}
	}
	for named, want := range map[string]string{"x": "no column x", "a,a": "twice", "d": "cannot be loaded"} {
		if _, err := LoadKey(t.Context(), conn, target(t, conn, "u"), strings.Split(named, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", named, err, want)
		}
	}
	if _, err := NewStage(target(t, conn, "n"), Key{}, 1); err == nil {
		t.Error("a stage without a key was planned")
	}
}

// A stage has the target's types and collations, bits for columns beyond the first thirty, and an index where the key is short enough.
func TestStageTable(t *testing.T) {
	wide := "CREATE TABLE dbo.w (id int IDENTITY NOT NULL PRIMARY KEY, rv rowversion, x AS id * 2"
	for i := range 40 {
		wide += ", c" + strings.Repeat("x", i) + " int NULL"
	}
	srv, conn := connect(t, wide+`); CREATE TABLE dbo.k (k nvarchar(440) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY, s sysname NULL, v nvarchar(max) COLLATE Japanese_CI_AS);
CREATE TABLE dbo.l (k varbinary(900) NOT NULL PRIMARY KEY)`)
	for table, want := range map[string][]string{
		"w": {"[__$merge_known0] int", "[__$merge_known1] int", "[id] int NOT NULL", "CLUSTERED INDEX k ON [#mssql_merge_7] ([id], [__$merge_seq])"},
		"k": {"[k] nvarchar(440) COLLATE Latin1_General_BIN2 NOT NULL", "[s] nvarchar(128)", "COLLATE Japanese_CI_AS NULL", "CLUSTERED"},
		"l": {"[k] varbinary(900) NOT NULL"},
	} {
		tg := target(t, conn, table)
		key, err := LoadKey(t.Context(), conn, tg, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewStage(tg, key, 7)
		if err != nil {
			t.Fatal(err)
		}
		text := s.create()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %s\nhas no %s", table, text, w)
			}
		}
		if strings.Contains(text, "IDENTITY") || strings.Contains(text, "[rv]") || strings.Contains(text, "[x]") || table == "l" && strings.Contains(text, "INDEX") {
			t.Errorf("%s: %s", table, text)
		}
		if err := s.Create(t.Context(), conn); err != nil {
			t.Error(err)
		}
		if err := conn.Batch(t.Context(), "DROP TABLE [#mssql_merge_7]"); err != nil {
			t.Error(err)
		}
	}
	_ = srv
}

// Nothing is changed outside of a transaction.
func TestApplyWithoutATransaction(t *testing.T) {
	srv, conn := connect(t, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int); INSERT dbo.t VALUES (1, 1), (2, 2)")
	tg := target(t, conn, "t")
	key, err := LoadKey(t.Context(), conn, tg, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStage(tg, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.Batch(t.Context(), "INSERT [#mssql_merge_1] ([__$merge_seq], [__$merge_op], id, v) VALUES (0, 1, 1, 9), (1, 3, 2, NULL), (2, 1, 3, 3)"); err != nil {
		t.Fatal(err)
	}
	c := &Content{Deletes: true}
	if err := s.Fold(t.Context(), conn, c); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Apply(t.Context(), conn, c, MissingError); !session.HasNumber(err, 50002) {
		t.Errorf("without a transaction: %v", err)
	}
	if rows, err := srv.Query("SELECT COUNT(*) FROM dbo.t WHERE id = v"); err != nil || rows[0][0] != "2" {
		t.Errorf("the table has changed: %v, %v", rows, err)
	}
	if err := conn.Batch(t.Context(), "BEGIN TRANSACTION"); err != nil {
		t.Fatal(err)
	}
	r, _, err := s.Apply(t.Context(), conn, c, MissingError)
	if err != nil || r != (Result{Deleted: 1, Updated: 1, Inserted: 1}) {
		t.Errorf("in a transaction: %+v, %v", r, err)
	}
	if err := conn.Batch(t.Context(), "COMMIT TRANSACTION"); err != nil {
		t.Fatal(err)
	}
}
