package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// textSink writes what a batch gives as text: a line per row, "msg n" per message of class 11 and more, "(n)" for counts.
type textSink struct {
	b     strings.Builder
	cols  []Column
	types bool // write the columns' types
	info  bool // write messages of class 10 and less
	count bool // write counts
	errs  []*sqlerr.Error
}

func (s *textSink) Columns(cols []Column) error {
	s.cols = cols
	if s.types {
		for i, c := range cols {
			if i > 0 {
				s.b.WriteString("|")
			}
			null := ""
			if c.Nullable {
				null = " null"
			}
			fmt.Fprintf(&s.b, "%s %s%s", c.Name, c.Type, null)
		}
		s.b.WriteString("\n")
	}
	return nil
}

func (s *textSink) Row(row []value.Value) error {
	for i, v := range row {
		if i > 0 {
			s.b.WriteString("|")
		}
		if v.IsNull() {
			s.b.WriteString("NULL")
		} else {
			s.b.WriteString(value.Display(v, s.cols[i].Type))
		}
	}
	s.b.WriteString("\n")
	return nil
}

func (s *textSink) DoneStatement(cmd uint16, n int64, has bool) error {
	if s.count && has {
		fmt.Fprintf(&s.b, "(%d)\n", n)
	}
	return nil
}

func (s *textSink) Message(e *sqlerr.Error) error {
	if e.Class > 10 {
		s.errs = append(s.errs, e)
		fmt.Fprintf(&s.b, "msg %d\n", e.Number)
	} else if s.info {
		fmt.Fprintf(&s.b, "info %s\n", e.Message)
	}
	return nil
}

func (s *textSink) Env(int, []byte, []byte) error { return nil }
func (s *textSink) Return(int32) error            { return nil }

func newInstance(t *testing.T) *Instance {
	t.Helper()
	st := storage.NewInstance(storage.Options{})
	in := New(st, NewRegistry())
	if _, err := st.CreateDatabase("db", nil); err != nil {
		t.Fatal(err)
	}
	return in
}

func open(t *testing.T, in *Instance, o SessionOptions) *Session {
	t.Helper()
	if o.Database == "" {
		o.Database = "db"
	}
	s, err := in.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newSession(t *testing.T) *Session {
	t.Helper()
	return open(t, newInstance(t), SessionOptions{})
}

// run runs a batch and returns its output.
func batchText(t *testing.T, s *Session, sql string) string {
	t.Helper()
	sink := &textSink{}
	if err := s.Batch(context.Background(), sql, sink); err != nil {
		t.Fatalf("running %q: %v", sql, err)
	}
	return strings.TrimSuffix(sink.b.String(), "\n")
}

type sqlTest struct{ name, sql, want string }

// check runs each test on one session, in order.
func check(t *testing.T, s *Session, tests []sqlTest) {
	t.Helper()
	for _, tt := range tests {
		sink := &textSink{}
		if err := s.Batch(context.Background(), tt.sql, sink); err != nil {
			t.Errorf("%s: %q: %v", tt.name, tt.sql, err)
			continue
		}
		got := strings.TrimSuffix(sink.b.String(), "\n")
		if got != tt.want {
			msg := ""
			for _, e := range sink.errs {
				msg += "\n\t" + e.Message
			}
			t.Errorf("%s:\n%s\ngot:\n%s\nwant:\n%s%s", tt.name, tt.sql, got, tt.want, msg)
		}
	}
}
