package syscat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// server is an executor over an empty server with the system catalog, and a session in database d.
type server struct {
	t  *testing.T
	in *exec.Instance
	s  *exec.Session
}

func newServer(t *testing.T) *server {
	t.Helper()
	st := storage.NewInstance(storage.Options{})
	reg := exec.NewRegistry()
	Register(reg)
	s := &server{t: t, in: exec.New(st, reg)}
	if err := st.Logins.CreateLogin(storage.Login{Name: "sa"}, "secret"); err != nil {
		t.Fatal(err)
	}
	s.s = s.session("sa", "master")
	s.exec(`CREATE DATABASE d`)
	if err := s.s.SetDatabase("d"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) session(login, db string) *exec.Session {
	s.t.Helper()
	x, err := s.in.NewSession(exec.SessionOptions{Login: login, Database: db, AppName: "test", HostName: "here"})
	if err != nil {
		s.t.Fatalf("session of %s in %s: %v", login, db, err)
	}
	s.t.Cleanup(x.Close)
	return x
}

// recorder is a sink that keeps results as text.
type recorder struct {
	cols []exec.Column
	sets [][]string
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
		switch {
		case v.IsNull():
			cells[i] = "NULL"
		case r.cols[i].Type.IsBinary():
			cells[i] = fmt.Sprintf("0x%X", v.Bytes())
		default:
			cells[i] = strings.TrimRight(value.Display(v, r.cols[i].Type), " ")
		}
	}
	r.sets[len(r.sets)-1] = append(r.sets[len(r.sets)-1], strings.Join(cells, "|"))
	return nil
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

func (s *server) exec(sql string) {
	s.t.Helper()
	if r := s.run(s.s, sql); len(r.errs) > 0 {
		s.t.Fatalf("%s: %v", sql, r.errs[0])
	}
}

func (s *server) queryAs(x *exec.Session, sql string) []string {
	s.t.Helper()
	r := s.run(x, sql)
	if len(r.errs) > 0 {
		s.t.Errorf("%s: %v", sql, r.errs[0])
		return nil
	}
	if len(r.sets) == 0 {
		s.t.Errorf("%s: no result set", sql)
		return nil
	}
	return r.sets[len(r.sets)-1]
}

func (s *server) want(sql string, want ...string) {
	s.t.Helper()
	if got := s.queryAs(s.s, sql); !slices.Equal(got, want) {
		s.t.Errorf("%s\n got %q\nwant %q", sql, got, want)
	}
}

func (s *server) fails(number int32, sql string) {
	s.t.Helper()
	r := s.run(s.s, sql)
	if len(r.errs) == 0 {
		s.t.Errorf("%s: no error, want %d", sql, number)
	} else if got := r.errs[len(r.errs)-1]; got.Number != number {
		s.t.Errorf("%s: error %d (%s), want %d", sql, got.Number, got.Message, number)
	}
}
