package snapshot_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

func TestFilters(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.f (k int PRIMARY KEY, n int IDENTITY, [a ) b] varchar(10))", fmt.Sprintf(enable, "f"),
		"INSERT dbo.f VALUES (1, 'x'), (2, ')'), (3, '--'), (4, 'x'), (5, NULL)")
	for _, tt := range []struct {
		filter string
		want   []string // nil: refused
		text   string
	}{
		{"", []string{"1", "2", "3", "4", "5"}, ""},
		{"k > 2", []string{"3", "4", "5"}, ""},
		{"k = 1 OR k = 5", []string{"1", "5"}, ""},
		{"t.[a ) b] = ')'", []string{"2"}, ""},
		{"k < 3 -- the first (two", []string{"1", "2"}, ""},
		{"k < 3 /* ) ; ' */ AND (k) > 1", []string{"2"}, ""},
		{"[a ) b] = '--'", []string{"3"}, ""},
		{"k > 5", []string{}, ""},
		{"EXISTS (SELECT 1 FROM dbo.f AS g WHERE g.k = t.k + 4)", []string{"1"}, ""},
		{"k = 1) OR (1 = 1", nil, "a ) closes nothing"},
		{"(k = 1", nil, "a ( is not closed"},
		{"k = 1; DROP TABLE dbo.f", nil, "semicolon"},
		{"k = 'x", nil, "a ' is not closed"},
		{"k = [x", nil, "a [ is not closed"},
		{"k = 1 /* x", nil, "a comment is not closed"},
		{"missing = 1", nil, "Invalid column name 'missing'"},
		{"k =", nil, "ncorrect syntax"},
		{"k", nil, "the filter"},
	} {
		t.Run(tt.filter, func(t *testing.T) {
			for _, iso := range []snapshot.Isolation{snapshot.Snapshot, snapshot.ReadCommitted} {
				r, err := snapshot.Open(t.Context(), l.conn, "dbo_f", snapshot.Options{Filter: tt.filter, Isolation: iso})
				if tt.want == nil {
					if !as[*snapshot.FilterError](err) || !strings.Contains(err.Error(), "dbo.f") || !strings.Contains(err.Error(), tt.text) {
						t.Errorf("%v, want an error with %q", err, tt.text)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := ids(t, l.all(r, 2, snapshot.Limits{Rows: 1})); !slices.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
	r := l.reader("dbo_f", snapshot.Options{Filter: "1 / (k - 3) = 1"})
	_, err := r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(r).LSN, snapshot.Limits{})
	if !as[*snapshot.FilterError](err) || !strings.Contains(err.Error(), "Divide by zero") {
		t.Errorf("a filter that fails on a row: %v", err)
	}
	l.quiet()
}

func TestAReplicaThatLagsIsNotRead(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.a (n int PRIMARY KEY)", fmt.Sprintf(enable, "a"))
	replica, err := l.AddReplica("second", "127.0.0.1:1434")
	if err != nil {
		t.Fatal(err)
	}
	replica.Freeze()
	r := l.reader("dbo_a", snapshot.Options{})
	l.exec("INSERT dbo.a VALUES (1), (2)")
	l.scan()
	handover := l.handover(r).LSN
	r.Use(l.open(replica.ConnString()))
	_, err = r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{})
	var behind *snapshot.BehindError
	if !errors.As(err, &behind) || behind.Want != handover || behind.Server.Compare(handover) >= 0 || !strings.Contains(err.Error(), "dbo.a") {
		t.Errorf("Read: %v", err)
	}
	if _, _, err := r.Bound(t.Context(), snapshot.Key{}, 1, handover); !as[*snapshot.BehindError](err) {
		t.Errorf("Bound: %v", err)
	}
	if got := l.chunk(r, snapshot.Key{}, snapshot.Key{}, checkpoint.LSN{}, snapshot.Limits{}); len(got) != 0 {
		t.Errorf("a snapshot that nothing follows: %v", got)
	}
	replica.Thaw()
	if got := l.chunk(r, snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{}); len(got) != 2 {
		t.Errorf("after it came up: %v", got)
	}
}

func TestWhatTheLoginSeesIsChecked(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn,
		"CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob; GRANT SELECT ON SCHEMA::cdc TO bob; GRANT VIEW DEFINITION TO bob",
		"CREATE TABLE dbo.m (n int PRIMARY KEY, open_ int, secret nvarchar(20) MASKED WITH (FUNCTION = 'default()'))", fmt.Sprintf(enable, "m"), "INSERT dbo.m VALUES (1, 2, N'word')",
		"CREATE TABLE dbo.denied (n int PRIMARY KEY)", fmt.Sprintf(enable, "denied"), "GRANT SELECT ON dbo.m TO bob")
	bob := l.open(strings.Replace(l.ConnString(), url.UserPassword("sa", password(t, l.ConnString())).String(), "bob:Passw0rd%21", 1))
	_, err := snapshot.Open(t.Context(), bob, "dbo_m", snapshot.Options{})
	var restricted *snapshot.RestrictedError
	if !errors.As(err, &restricted) || !slices.Equal(restricted.Masked, []string{"[secret]"}) || !strings.Contains(err.Error(), "GRANT UNMASK") {
		t.Errorf("a masked column: %v", err)
	}
	r, err := snapshot.Open(t.Context(), bob, "dbo_m", snapshot.Options{AllowMasked: true})
	if err != nil {
		t.Fatal(err)
	}
	l.conn = bob
	if got := l.all(r, 1, snapshot.Limits{}); len(got) != 1 {
		t.Errorf("allowed masks: %v", got)
	}
	_, err = snapshot.Open(t.Context(), bob, "dbo_denied", snapshot.Options{})
	if !as[*snapshot.PermissionError](err) || !strings.Contains(err.Error(), "GRANT SELECT ON [dbo].[denied] to it") {
		t.Errorf("a table without rights: %v", err)
	}
	l.exec("GRANT UNMASK TO bob")
	if _, err := snapshot.Open(t.Context(), bob, "dbo_m", snapshot.Options{}); err != nil {
		t.Errorf("with UNMASK: %v", err)
	}
	l.exec("REVOKE SELECT ON dbo.m FROM bob")
	_, err = r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(r).LSN, snapshot.Limits{})
	if !as[*snapshot.PermissionError](err) {
		t.Errorf("rights that were taken away: %v", err)
	}
}

func password(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := u.User.Password()
	return p
}

func TestATableThatIsGone(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.g (n int PRIMARY KEY)", fmt.Sprintf(enable, "g"))
	if _, err := snapshot.Open(t.Context(), l.conn, "dbo_nothing", snapshot.Options{}); !as[*snapshot.GoneError](err) {
		t.Errorf("Open: %v", err)
	}
	r := l.reader("dbo_g", snapshot.Options{})
	handover := l.handover(r).LSN
	l.exec("DROP TABLE dbo.g")
	_, err := r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{})
	if !as[*snapshot.GoneError](err) || !strings.Contains(err.Error(), "dbo.g") || !session.HasNumber(err, 208) {
		t.Errorf("Read: %v", err)
	}
	if _, err := r.Handover(t.Context()); !as[*snapshot.GoneError](err) {
		t.Errorf("Handover: %v", err)
	}
}

// TestWithoutSnapshotIsolationNoLockIsKept reads while rows are locked by others:
// it waits for the row, and holds nothing between pages.
func TestWithoutSnapshotIsolationNoLockIsKept(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.r (n int PRIMARY KEY, v int)", fmt.Sprintf(enable, "r"), "INSERT dbo.r VALUES (1, 1), (2, 2), (3, 3)")
	r := l.reader("dbo_r", snapshot.Options{})
	handover := l.handover(r).LSN
	writer := l.open(l.ConnString())
	if _, err := writer.Exec(t.Context(), "BEGIN TRAN; UPDATE dbo.r SET v = 30 WHERE n = 3", ""); err != nil {
		t.Fatal(err)
	}
	p, err := r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	next := p.Next
	p.Release()
	for _, s := range l.Control().Locks() {
		if strings.HasPrefix(s, "S ") || strings.HasPrefix(s, "IS ") {
			t.Errorf("between pages: %s", s)
		}
	}
	l.exec("UPDATE dbo.r SET v = 20 WHERE n = 2") // what was read is free
	l.conn, err = session.Open(t.Context(), session.Config{ConnectionString: l.ConnString(), Dial: l.DialContext, LockTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.conn.Close() }()
	r.Use(l.conn)
	if _, err := r.Read(t.Context(), next, snapshot.Key{}, handover, snapshot.Limits{}); !session.IsTransient(err) || !session.HasNumber(err, 1222) {
		t.Errorf("a row that is locked: %v", err)
	}
	if _, err := writer.Exec(t.Context(), "COMMIT", ""); err != nil {
		t.Fatal(err)
	}
	diff(t, l.chunk(r, next, snapshot.Key{}, handover, snapshot.Limits{}), []string{`{"n":3,"v":30}`})
	l.quiet()
}

// TestSnapshotIsolationWaitsForNobody is the same under SNAPSHOT.
func TestSnapshotIsolationWaitsForNobody(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.r (n int PRIMARY KEY, v int)", fmt.Sprintf(enable, "r"), "INSERT dbo.r VALUES (1, 1), (2, 2)")
	r := l.reader("dbo_r", snapshot.Options{})
	writer := l.open(l.ConnString())
	if _, err := writer.Exec(t.Context(), "BEGIN TRAN; UPDATE dbo.r SET v = 30; INSERT dbo.r VALUES (3, 3)", ""); err != nil {
		t.Fatal(err)
	}
	diff(t, l.all(r, 2, snapshot.Limits{}), []string{`{"n":1,"v":1}`, `{"n":2,"v":2}`})
	if _, err := writer.Exec(t.Context(), "ROLLBACK", ""); err != nil {
		t.Fatal(err)
	}
}

func TestTheCaptureJobHasNotStarted(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.first (n int)", fmt.Sprintf(enable, "first"), "CREATE TABLE dbo.n (n int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "n"))
	r := l.reader("dbo_n", snapshot.Options{})
	if _, err := r.Handover(t.Context()); err != nil && (!errors.Is(err, snapshot.ErrNotStarted) || !strings.Contains(err.Error(), "dbo.n")) {
		t.Errorf("Handover: %v", err)
	}
	l.scan()
	l.handover(r)
}
