package changetable_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// lab is a server with change data capture, scanned by hand, and a session.
type lab struct {
	*mssqltest.Server
	t    *testing.T
	conn *session.Conn
}

func newLab(t *testing.T, cfg mssqltest.Config, script string) *lab {
	t.Helper()
	cfg.CaptureStopped = true
	l := &lab{Server: mssqltest.Start(t, cfg), t: t}
	l.exec("EXEC sys.sp_cdc_enable_db")
	l.exec(script)
	l.conn = l.open(l.ConnString())
	return l
}

func (l *lab) open(dsn string) *session.Conn {
	l.t.Helper()
	conn, err := session.Open(l.t.Context(), session.Config{ConnectionString: dsn, Dial: l.DialContext})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (l *lab) exec(script string) {
	l.t.Helper()
	if err := l.Exec(script); err != nil {
		l.t.Fatalf("%v\n%s", err, script)
	}
}

func (l *lab) scan() {
	l.t.Helper()
	if err := l.Control().CaptureScan(l.t.Context(), ""); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) high() checkpoint.LSN {
	l.t.Helper()
	s, err := catalog.LoadState(l.t.Context(), l.conn)
	if err != nil {
		l.t.Fatal(err)
	}
	return s.High.LSN
}

func (l *lab) reader(capture string, opts changetable.Options) *changetable.Reader {
	l.t.Helper()
	r, err := changetable.Open(l.t.Context(), l.conn, capture, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *lab) earliest(r *changetable.Reader) checkpoint.Position {
	l.t.Helper()
	pos, err := r.Earliest(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return pos
}

// row renders a change as "operation column=value …", a value that was not
// logged as "?".
func row(p *changetable.Page, i int) string {
	var b strings.Builder
	b.WriteString([]string{"", "D", "I", "B", "A"}[p.Operation(i)])
	for c := range int(p.Record.NumCols()) - 5 {
		value := p.Record.Column(c).ValueStr(i)
		if p.NotLogged(i, c) {
			value = "?"
		}
		b.WriteString(" " + p.Record.ColumnName(c) + "=" + value)
	}
	return b.String()
}

// all reads everything up to the watermark.
func (l *lab) all(r *changetable.Reader, from checkpoint.Position, limits changetable.Limits) (out []string) {
	l.t.Helper()
	high := l.high()
	for {
		p, err := r.Read(l.t.Context(), from, high, limits)
		if err != nil {
			l.t.Fatal(err)
		}
		for i := range p.Rows {
			out = append(out, row(p, i))
		}
		from = p.Next
		p.Release()
		if p.AtHigh {
			return out
		}
	}
}

const enable = "EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL"

func diff(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestChangesComeInTheirOrder(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old change table %v", old), func(t *testing.T) {
			l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.k (id int PRIMARY KEY, v int)")
			if err := l.Control().OldChangeTables("", old); err != nil {
				t.Fatal(err)
			}
			l.exec(fmt.Sprintf(enable, "k"))
			l.exec("INSERT dbo.k VALUES (1, 10), (2, 20), (3, 30)")
			l.exec("UPDATE dbo.k SET v = v + 1")
			l.exec("UPDATE dbo.k SET id = 9 WHERE id = 1")
			l.exec("BEGIN TRAN; DELETE dbo.k WHERE id = 2; INSERT dbo.k VALUES (2, 99); COMMIT")
			l.exec("BEGIN TRAN; INSERT dbo.k VALUES (5, 1); DELETE dbo.k WHERE id = 5; COMMIT")
			l.scan()
			r := l.reader("dbo_k", changetable.Options{})
			if r.Splits() == old {
				t.Errorf("Splits = %v", r.Splits())
			}
			want := []string{
				"I id=1 v=10", "I id=2 v=20", "I id=3 v=30",
				"B id=1 v=10", "A id=1 v=11", "B id=2 v=20", "A id=2 v=21", "B id=3 v=30", "A id=3 v=31",
				"D id=1 v=11", "I id=9 v=11",
				"D id=2 v=21", "I id=2 v=99",
				"I id=5 v=1", "D id=5 v=1",
			}
			for _, n := range []int{1, 2, 3, 4, 100} {
				diff(t, l.all(r, l.earliest(r), changetable.Limits{Rows: n}), want)
			}
		})
	}
}

func TestAGiantTransactionIsReadInLinearWork(t *testing.T) {
	for _, iso := range []changetable.Isolation{changetable.NoLock, changetable.Snapshot} {
		t.Run(fmt.Sprint(iso), func(t *testing.T) {
			l := newLab(t, mssqltest.Config{}, "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON; CREATE TABLE dbo.g (id int PRIMARY KEY, v nvarchar(100))")
			l.exec(fmt.Sprintf(enable, "g"))
			const n = 10_000
			l.exec("WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS x(v)) " +
				"INSERT dbo.g SELECT a.v + 10*b.v + 100*c.v + 1000*e.v, REPLICATE(N'x', 50) FROM d a CROSS JOIN d b CROSS JOIN d c CROSS JOIN d e")
			l.scan()
			r := l.reader("dbo_g", changetable.Options{Isolation: iso})
			from := l.earliest(r)
			l.Control().RecordStatements(true)
			got := l.all(r, from, changetable.Limits{Rows: 1000})
			if len(got) != n {
				t.Fatalf("%d changes, want %d", len(got), n)
			}
			var examined int64
			for _, s := range l.Control().Statements() {
				examined += s.RowsExamined
			}
			if examined < n || examined > n*11/10 {
				t.Errorf("%d rows examined for %d rows", examined, n)
			}
			if open := l.Control().OpenRequests(); open > 0 {
				t.Errorf("%d requests are open", open)
			}
			if locks := l.Control().Locks(); len(locks) > 0 {
				for _, s := range locks {
					if !strings.Contains(s, "DATABASE") {
						t.Errorf("lock left: %s", s)
					}
				}
			}
		})
	}
}

func TestMasksOfAnyWidth(t *testing.T) {
	for _, n := range []int{9, 17, 65} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var columns []string
			for i := 2; i <= n; i++ {
				columns = append(columns, fmt.Sprintf("c%d nvarchar(max)", i))
			}
			l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.w (c1 int PRIMARY KEY, "+strings.Join(columns, ", ")+")")
			l.exec(fmt.Sprintf(enable, "w"))
			l.exec("INSERT dbo.w (c1, c2) VALUES (1, N'a')")
			l.exec(fmt.Sprintf("UPDATE dbo.w SET c2 = N'b', c%d = N'z' WHERE c1 = 1", n))
			l.scan()
			r := l.reader("dbo_w", changetable.Options{})
			p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			if p.Rows != 3 {
				t.Fatalf("%d changes", p.Rows)
			}
			for i := 1; i < 3; i++ {
				for c := range n {
					want := c == 1 || c == n-1
					if p.Changed(i, c) != want {
						t.Errorf("row %d: column c%d changed %v, mask %x", i, c+1, !want, p.UpdateMask(i))
					}
					if notLogged := c > 0 && !want; p.NotLogged(i, c) != notLogged {
						t.Errorf("row %d: column c%d not logged %v", i, c+1, !notLogged)
					}
				}
			}
		})
	}
}

func TestUnchangedLOBsAreNotNULL(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.l (id int PRIMARY KEY, v int, m nvarchar(max), x ntext)")
	l.exec(fmt.Sprintf(enable, "l"))
	l.exec("INSERT dbo.l VALUES (1, 1, N'm', N'x')")
	l.exec("UPDATE dbo.l SET v = 2")
	l.exec("UPDATE dbo.l SET m = NULL")
	l.exec("DELETE dbo.l")
	l.scan()
	r := l.reader("dbo_l", changetable.Options{})
	got := l.all(r, l.earliest(r), changetable.Limits{})
	want := []string{
		"I id=1 v=1 m=m x=x",
		"B id=1 v=1 m=? x=?", "A id=1 v=2 m=? x=?",
		"B id=1 v=2 m=m x=?", "A id=1 v=2 m=(null) x=?",
		"D id=1 v=2 m=(null) x=?",
	}
	diff(t, got, want)
}

func TestOddNamesAreReadExactly(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE SCHEMA [my schema]")
	l.exec("CREATE TABLE [my schema].[Or'der ]]$1.x] ([my col$a] int PRIMARY KEY, [a]]b] int, [名前] nvarchar(10), [select] int)")
	l.exec("EXEC sys.sp_cdc_enable_table N'my schema', N'Or''der ]$1.x', @capture_instance = N'i ]''1', @role_name = NULL")
	l.exec("INSERT [my schema].[Or'der ]]$1.x] VALUES (1, 2, N'値', 4)")
	l.scan()
	r := l.reader("i ]'1", changetable.Options{})
	diff(t, l.all(r, l.earliest(r), changetable.Limits{}), []string{"I my col$a=1 a]b=2 名前=値 select=4"})
	if schema, table := r.Source(); schema != "my schema" || table != "Or'der ]$1.x" {
		t.Errorf("Source = %q, %q", schema, table)
	}
	if got := r.Key(); !slices.Equal(got, []int{0}) {
		t.Errorf("Key = %v", got)
	}
}

func TestADisabledInstanceIsGone(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.exec(fmt.Sprintf(enable, "b"))
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	from := l.earliest(r)
	fromB := l.earliest(l.reader("dbo_b", changetable.Options{}))
	l.exec("INSERT dbo.b VALUES (1)")
	l.exec("EXEC sys.sp_cdc_disable_table N'dbo', N'a', N'all'")
	l.scan()
	var gone *changetable.InstanceGoneError
	if _, err := r.Read(t.Context(), from, l.high(), changetable.Limits{}); !errors.As(err, &gone) || gone.Table != "dbo.a" {
		t.Errorf("Read: %v", err)
	}
	if _, err := changetable.Open(t.Context(), l.conn, "dbo_a", changetable.Options{}); !errors.As(err, &gone) {
		t.Errorf("Open: %v", err)
	}
	found, err := changetable.Probe(t.Context(), l.conn, l.high(), []changetable.Target{
		{Table: "dbo.a", Capture: "dbo_a", ChangeTable: "dbo_a_CT", After: from},
		{Table: "dbo.b", Capture: "dbo_b", ChangeTable: "dbo_b_CT", After: fromB},
	}, changetable.NoLock)
	if err != nil || !errors.As(found[0].Err, &gone) || !found[1].Rows || found[1].Err != nil {
		t.Errorf("Probe: %+v, %v", found, err)
	}
}

func TestAnInstanceThatWasNotHandledHasNoStart(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	r := l.reader("dbo_a", changetable.Options{})
	if pos, err := r.Earliest(t.Context()); err == nil {
		// A server that sets the low end at once has to have it above its maximum.
		if pos.LSN.Compare(l.high()) < 0 {
			t.Errorf("Earliest before the capture job has run: %s, watermark %s", pos, l.high())
		}
	} else if !errors.Is(err, changetable.ErrNotStarted) {
		t.Errorf("Earliest: %v", err)
	}
	l.scan()
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	diff(t, l.all(r, l.earliest(r), changetable.Limits{}), []string{"I id=1"})
}

func TestTheGatingRoleIsNotEnough(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec("EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = N'readers'")
	l.exec("CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob; ALTER ROLE readers ADD MEMBER bob; GRANT SELECT ON dbo.a TO bob")
	l.scan()
	bob := l.open(as(t, l.ConnString(), "bob", "Passw0rd!"))
	_, err := changetable.Open(t.Context(), bob, "dbo_a", changetable.Options{})
	var denied *changetable.PermissionError
	if !errors.As(err, &denied) || !strings.Contains(err.Error(), "GRANT SELECT ON SCHEMA::[cdc]") {
		t.Errorf("Open: %v", err)
	}
}

func TestCommitTimesFollowTheServersZone(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, mssqltest.Config{Location: zone}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	before := time.Now()
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	db, err := catalog.LoadDatabase(t.Context(), l.conn)
	if err != nil {
		t.Fatal(err)
	}
	r := l.reader("dbo_a", changetable.Options{Location: db.Location(nil)})
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if d := p.Commit(0).End.Sub(before); d < -time.Second || d > time.Minute {
		t.Errorf("the commit was %s after it was made", d)
	}
}

func TestALoneSurrogateIsAnErrorOrReplaced(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.s (id int PRIMARY KEY, v nvarchar(20), m nvarchar(max))")
	l.exec(fmt.Sprintf(enable, "s"))
	l.exec("INSERT dbo.s VALUES (1, N'a' + NCHAR(65533) + N'b', N'ok')")
	l.scan()
	r := l.reader("dbo_s", changetable.Options{})
	diff(t, l.all(r, l.earliest(r), changetable.Limits{}), []string{"I id=1 v=a\uFFFDb m=ok"})
	l.exec("INSERT dbo.s VALUES (2, N'x', N'a' + NCHAR(0xD800) + N'b')")
	l.scan()
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	var value *changetable.ValueError
	if !errors.As(err, &value) || !strings.Contains(err.Error(), "column m") {
		t.Fatalf("Read: %+v, %v", p, err)
	}
	r = l.reader("dbo_s", changetable.Options{ReplaceInvalidText: true})
	if got := l.all(r, l.earliest(r), changetable.Limits{}); len(got) != 2 || got[1] != "I id=2 v=x m=a\uFFFDb" {
		t.Errorf("replaced: %q", got)
	}
}

func TestRecordsHaveTheChangeColumns(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	var names []string
	for _, f := range p.Record.Schema().Fields() {
		names = append(names, f.Name)
	}
	if want := []string{"id", "__$start_lsn", "__$command_id", "__$seqval", "__$operation", "__$update_mask"}; !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	if v, ok := p.Record.Column(0).(*array.Int32); !ok || v.Value(0) != 1 {
		t.Errorf("column id is %v", p.Record.Column(0))
	}
	if p.LSN(0) != l.high() || p.SeqVal(0).IsZero() || p.CommandID(0) != 1 {
		t.Errorf("LSN %s, seqval %s, command %d", p.LSN(0), p.SeqVal(0), p.CommandID(0))
	}
}

func TestCaseAndLanguageOfTheDatabase(t *testing.T) {
	for _, tt := range []struct{ collation, first, second string }{
		{"SQL_Latin1_General_CP1_CS_AS", "T", "t"},
		{"Turkish_CI_AS", "INFO", "i"},
		{"Latin1_General_BIN2", "Ii", "iI"},
	} {
		t.Run(tt.collation, func(t *testing.T) {
			l := newLab(t, mssqltest.Config{Collation: tt.collation}, fmt.Sprintf("CREATE TABLE dbo.[%s] (id int PRIMARY KEY); CREATE TABLE dbo.[%s] (id int PRIMARY KEY)", tt.first, tt.second))
			for i, name := range []string{tt.first, tt.second} {
				l.exec(fmt.Sprintf("EXEC sys.sp_cdc_enable_table N'dbo', N'%s', @capture_instance = N'c%d', @role_name = NULL", name, i))
				l.exec(fmt.Sprintf("INSERT dbo.[%s] VALUES (%d)", name, i))
			}
			l.scan()
			for i, name := range []string{tt.first, tt.second} {
				r := l.reader(fmt.Sprintf("c%d", i), changetable.Options{})
				diff(t, l.all(r, l.earliest(r), changetable.Limits{}), []string{fmt.Sprintf("I id=%d", i)})
				if _, table := r.Source(); table != name {
					t.Errorf("Source is %s, want %s", table, name)
				}
			}
		})
	}
}

func TestAWideTableWithLongNames(t *testing.T) {
	table, capture := strings.Repeat("t", 120), strings.Repeat("c", 100)
	var columns []string
	for i := range 300 {
		columns = append(columns, fmt.Sprintf("[%s%04d] int", strings.Repeat("名", 100), i))
	}
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo."+table+" (id int PRIMARY KEY, "+strings.Join(columns, ", ")+")")
	l.exec(fmt.Sprintf("EXEC sys.sp_cdc_enable_table N'dbo', N'%s', @capture_instance = N'%s', @role_name = NULL", table, capture))
	l.exec("INSERT dbo." + table + " (id) VALUES (1), (2)")
	l.scan()
	r := l.reader(capture, changetable.Options{})
	if got := l.all(r, l.earliest(r), changetable.Limits{Rows: 2}); len(got) != 2 || !strings.HasPrefix(got[1], "I id=2 ") {
		t.Errorf("got %.100q", got)
	}
}

// as is a connection string for another login.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
