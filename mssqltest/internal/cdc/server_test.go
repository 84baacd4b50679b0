package cdc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/syscat"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// server is a stand-in without its network: a database that has change data capture, and a session in it.
type server struct {
	t  *testing.T
	st *storage.Instance
	in *exec.Instance
	m  *Manager
	db *storage.Database
	s  *exec.Session
}

// newServer makes a server with database d, which is enabled.
func newServer(t *testing.T) *server {
	t.Helper()
	return newServerIn(t, time.UTC)
}

// newServerIn is newServer in a time zone.
func newServerIn(t *testing.T, loc *time.Location) *server {
	t.Helper()
	s := newBareServerIn(t, loc)
	s.exec(`CREATE DATABASE d; ALTER DATABASE d SET ALLOW_SNAPSHOT_ISOLATION ON`)
	s.use("d")
	s.exec(`EXEC sys.sp_cdc_enable_db`)
	return s
}

// newBareServer makes a server with its system databases.
func newBareServer(t *testing.T) *server {
	t.Helper()
	return newBareServerIn(t, time.UTC)
}

func newBareServerIn(t *testing.T, loc *time.Location) *server {
	t.Helper()
	st := storage.NewInstance(storage.Options{Location: loc})
	reg := exec.NewRegistry()
	syscat.Register(reg)
	s := &server{t: t, st: st, m: Register(reg, st)}
	s.in = exec.New(st, reg)
	if err := st.Logins.CreateLogin(storage.Login{Name: "sa"}, "secret"); err != nil {
		t.Fatal(err)
	}
	s.s = s.session("sa", "master")
	t.Cleanup(s.m.Close)
	return s
}

func (s *server) session(login, db string) *exec.Session {
	s.t.Helper()
	x, err := s.in.NewSession(exec.SessionOptions{Login: login, Database: db})
	if err != nil {
		s.t.Fatalf("session of %s in %s: %v", login, db, err)
	}
	s.t.Cleanup(x.Close)
	return x
}

func (s *server) use(db string) {
	s.t.Helper()
	s.db = s.st.Database(db)
	if s.db == nil {
		s.t.Fatalf("there is no database %s", db)
	}
	if err := s.s.SetDatabase(db); err != nil {
		s.t.Fatal(err)
	}
}

// recorder is a sink that keeps results as text.
type recorder struct {
	cols []exec.Column
	sets [][]string // the rows of each result set, cells joined by a bar
	errs []*sqlerr.Error
	info []*sqlerr.Error
}

func (r *recorder) Columns(c []exec.Column) error {
	r.cols = slices.Clone(c)
	r.sets = append(r.sets, nil)
	return nil
}

func (r *recorder) Row(vals []value.Value) error {
	cells := make([]string, len(vals))
	for i, v := range vals {
		cells[i] = cellText(v, r.cols[i].Type)
	}
	r.sets[len(r.sets)-1] = append(r.sets[len(r.sets)-1], strings.Join(cells, "|"))
	return nil
}

func cellText(v value.Value, t value.Type) string {
	switch {
	case v.IsNull():
		return "NULL"
	case t.IsBinary():
		return fmt.Sprintf("0x%X", v.Bytes())
	}
	return value.Display(v, t)
}

func (r *recorder) DoneStatement(uint16, int64, bool) error { return nil }

func (r *recorder) Message(e *sqlerr.Error) error {
	if e.Class > 10 {
		r.errs = append(r.errs, e)
	} else {
		r.info = append(r.info, e)
	}
	return nil
}

func (r *recorder) Env(int, []byte, []byte) error { return nil }
func (r *recorder) Return(int32) error            { return nil }

func (s *server) run(x *exec.Session, sql string) *recorder {
	s.t.Helper()
	r := &recorder{}
	if err := x.Batch(context.Background(), sql, r); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return r
}

// exec runs a batch that must succeed.
func (s *server) exec(sql string, args ...any) {
	s.t.Helper()
	if len(args) > 0 {
		sql = fmt.Sprintf(sql, args...)
	}
	if r := s.run(s.s, sql); len(r.errs) > 0 {
		s.t.Fatalf("%s: %v", sql, r.errs[0])
	}
}

// query gives the rows of the last result set of a batch that must succeed.
func (s *server) query(sql string, args ...any) []string {
	s.t.Helper()
	return s.queryAs(s.s, sql, args...)
}

func (s *server) queryAs(x *exec.Session, sql string, args ...any) []string {
	s.t.Helper()
	if len(args) > 0 {
		sql = fmt.Sprintf(sql, args...)
	}
	r := s.run(x, sql)
	if len(r.errs) > 0 {
		s.t.Fatalf("%s: %v", sql, r.errs[0])
	}
	if len(r.sets) == 0 {
		s.t.Fatalf("%s: no result set", sql)
	}
	return r.sets[len(r.sets)-1]
}

// one gives the only cell of a query.
func (s *server) one(sql string, args ...any) string {
	s.t.Helper()
	rows := s.query(sql, args...)
	if len(rows) != 1 {
		s.t.Fatalf("%s: %d rows %q, want 1", sql, len(rows), rows)
	}
	return rows[0]
}

// want compares the rows of a query.
func (s *server) want(sql string, want ...string) {
	s.t.Helper()
	if got := s.query(sql); !slices.Equal(got, want) {
		s.t.Errorf("%s\n got %q\nwant %q", sql, got, want)
	}
}

// fails runs a batch that must end with an error of that number.
func (s *server) fails(number int32, sql string, args ...any) {
	s.t.Helper()
	s.failsAs(s.s, number, sql, args...)
}

func (s *server) failsAs(x *exec.Session, number int32, sql string, args ...any) {
	s.t.Helper()
	if len(args) > 0 {
		sql = fmt.Sprintf(sql, args...)
	}
	r := s.run(x, sql)
	if len(r.errs) == 0 {
		s.t.Errorf("%s: no error, want %d", sql, number)
		return
	}
	if got := r.errs[len(r.errs)-1]; got.Number != number {
		s.t.Errorf("%s: error %d (%s), want %d", sql, got.Number, got.Message, number)
	}
}

// enable enables a table of dbo without a gating role; more are further parameters.
func (s *server) enable(table, more string) {
	s.t.Helper()
	s.exec(`EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL%s`, table, more)
	s.scan()
}

// scan waits until the log is captured.
func (s *server) scan() {
	s.t.Helper()
	j := s.m.Job(s.db)
	if j == nil {
		s.t.Fatal("there is no capture job")
	}
	if err := j.Scan(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}
