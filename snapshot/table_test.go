package snapshot_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// plainLab is a server without change data capture.
func plainLab(t *testing.T, script string) *lab {
	t.Helper()
	l := &lab{Server: mssqltest.Start(t, mssqltest.Config{}), t: t}
	l.exec(script)
	l.conn = l.open(l.ConnString())
	return l
}

func (l *lab) openTable(table string, columns ...string) *snapshot.Reader {
	l.t.Helper()
	r, err := snapshot.OpenTable(l.t.Context(), l.conn, "dbo", table, columns, snapshot.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func TestTableThatIsNotCaptured(t *testing.T) {
	l := plainLab(t, "CREATE TABLE dbo.t (a int NOT NULL, b AS a + 1, c varchar(10) NULL, d int NOT NULL PRIMARY KEY); INSERT INTO dbo.t (a, c, d) VALUES (1, 'x', 10), (2, NULL, 20), (3, 'z', 30);")
	r := l.openTable("t")
	if got := r.Schema().String(); strings.Contains(got, "b: ") || !strings.Contains(got, "c: ") {
		t.Errorf("the columns are %s", got)
	}
	if got := r.ChunkKey(); len(got) != 1 || got[0] != "d" {
		t.Errorf("chunks go by %q", got)
	}
	r = l.openTable("t", "c", "d")
	key, last, err := r.Bound(t.Context(), snapshot.Key{}, 2, checkpoint.LSN{})
	if err != nil || last {
		t.Fatal(key, last, err)
	}
	for want, from := range map[int]snapshot.Key{2: {}, 1: key} {
		upto := key
		if want == 1 {
			upto = snapshot.Key{}
		}
		page, err := r.Read(t.Context(), from, upto, checkpoint.LSN{}, snapshot.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if page.Rows != want || page.Record.NumCols() != 2 || page.Record.ColumnName(0) != "c" || !page.Done {
			t.Errorf("%d rows of %d columns, want %d of 2", page.Rows, page.Record.NumCols(), want)
		}
		page.Release()
	}
}

func TestTableWithoutAKeyThatIsNotCaptured(t *testing.T) {
	l := plainLab(t, "CREATE TABLE dbo.t (a int NULL); INSERT INTO dbo.t VALUES (1), (1), (NULL);")
	r, rows := l.openTable("t"), 0
	mark, err := r.ReadAll(t.Context(), nil, snapshot.Limits{Rows: 2}, func(p *snapshot.Page) error {
		rows += p.Rows
		p.Release()
		return nil
	})
	if err != nil || rows != 3 || !mark.IsZero() {
		t.Errorf("%d rows, mark %v, %v", rows, mark, err)
	}
}

func TestTableThatIsNotThere(t *testing.T) {
	l := plainLab(t, "CREATE TABLE dbo.t (a int NULL);")
	_, err := snapshot.OpenTable(t.Context(), l.conn, "dbo", "u", nil, snapshot.Options{})
	var gone *snapshot.GoneError
	if !errors.As(err, &gone) || strings.Contains(err.Error(), "capture instance") {
		t.Errorf("a table that is not there: %v", err)
	}
	if _, err := snapshot.OpenTable(t.Context(), l.conn, "dbo", "t", []string{"x"}, snapshot.Options{}); err == nil || !strings.Contains(err.Error(), "no column x") {
		t.Errorf("a column that is not there: %v", err)
	}
}

func TestKeysOfOneTableInAnother(t *testing.T) {
	l := plainLab(t, `CREATE TABLE dbo.a (k int NOT NULL, n decimal(10,2) NOT NULL, PRIMARY KEY (k, n DESC)); INSERT INTO dbo.a VALUES (1, 2.5);
CREATE TABLE dbo.same (K bigint NOT NULL, n decimal(18,2) NOT NULL, PRIMARY KEY (K, n DESC));
CREATE TABLE dbo.up (k int NOT NULL, n decimal(10,2) NOT NULL, PRIMARY KEY (k, n));
CREATE TABLE dbo.scale (k int NOT NULL, n decimal(10,3) NOT NULL, PRIMARY KEY (k, n DESC));
CREATE TABLE dbo.small (k smallint NOT NULL, n decimal(10,2) NOT NULL, PRIMARY KEY (k, n DESC));
CREATE TABLE dbo.less (k int NOT NULL PRIMARY KEY);`)
	a := l.openTable("a")
	for table, want := range map[string]bool{"a": true, "same": true, "up": false, "scale": false, "small": false, "less": false} {
		if got := l.openTable(table).Follows(a); got != want {
			t.Errorf("%s follows: %v, want %v", table, got, want)
		}
	}
	key, _, err := a.Bound(t.Context(), snapshot.Key{}, 1, checkpoint.LSN{})
	if err != nil {
		t.Fatal(err)
	}
	same := l.openTable("same")
	adopted, err := same.Adopt(key)
	if err != nil || !strings.Contains(adopted.String(), "bigint") {
		t.Errorf("%s, %v", adopted, err)
	}
	if page, err := same.Read(t.Context(), snapshot.Key{}, adopted, checkpoint.LSN{}, snapshot.Limits{}); err != nil || page.Rows != 0 {
		t.Errorf("reading up to an adopted key: %+v, %v", page, err)
	}
	if _, err := l.openTable("less").Adopt(key); err == nil {
		t.Error("a key of other columns is adopted")
	}
}
