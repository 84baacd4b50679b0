package snapshot

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// answers is a connection that gives one row in each result set, and then an
// error, to the statement that contains a text.
type answers map[string]answer

type answer struct {
	rows [][]driver.Value
	err  error
}

func (a answers) Query(_ context.Context, text, _ string, _ ...driver.Value) (driver.RowsNextResultSet, error) {
	for part, answer := range a {
		if strings.Contains(text, part) {
			if len(answer.rows) == 0 {
				return nil, answer.err
			}
			return &answerRows{answer: answer}, nil
		}
	}
	return &answerRows{answer: answer{rows: [][]driver.Value{nil}}, at: 1}, nil
}

type answerRows struct {
	answer
	set, at int
}

func (r *answerRows) Columns() []string      { return make([]string, len(r.rows[r.set])) }
func (r *answerRows) Close() error           { return nil }
func (r *answerRows) HasNextResultSet() bool { return r.set < len(r.rows)-1 }
func (r *answerRows) NextResultSet() error   { r.set, r.at = r.set+1, 0; return nil }
func (r *answerRows) Next(dest []driver.Value) error {
	if r.at == 0 {
		r.at = 1
		copy(dest, r.rows[r.set])
		return nil
	}
	if r.set == len(r.rows)-1 && r.err != nil {
		return r.err
	}
	return io.EOF
}

// TestTheLockIsProved: whatever a server remarks on a transaction that stays
// open, the number of transactions decides.
func TestTheLockIsProved(t *testing.T) {
	lsn := make([]byte, 10)
	locked := func(trans int64) [][]driver.Value {
		return [][]driver.Value{{lsn}, {time.Unix(0, 0), int64(60), "s", "d", "READ_WRITE", trans}}
	}
	mismatch, timeout := mssql.Error{Number: 266, Class: 16}, mssql.Error{Number: 1222, Class: 16}
	for _, tt := range []struct {
		name       string
		take, free answer
		want       string // of the first error, "" for none
	}{
		{"plain", answer{rows: locked(1)}, answer{rows: [][]driver.Value{{int64(1)}}}, ""},
		{"remarked", answer{rows: locked(1), err: mismatch}, answer{rows: [][]driver.Value{{int64(1)}}, err: mismatch}, ""},
		{"not there", answer{rows: locked(0)}, answer{rows: [][]driver.Value{{int64(0)}}}, "0 transactions are open"},
		{"rolled back", answer{rows: locked(1), err: mismatch}, answer{rows: [][]driver.Value{{int64(0)}}}, "the lock was lost"},
		{"timed out", answer{err: timeout}, answer{rows: [][]driver.Value{{int64(0)}}}, "locking the table"},
		{"another error beside it", answer{rows: locked(1), err: timeout}, answer{rows: [][]driver.Value{{int64(1)}}}, "locking the table"},
		{"released with an error", answer{rows: locked(1)}, answer{err: io.ErrUnexpectedEOF}, "releasing the lock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &tableLock{conn: answers{"HOLDLOCK": tt.take, "ROLLBACK": tt.free}, table: "dbo.t", object: "[dbo].[t]"}
			err := l.take(t.Context())
			if err == nil {
				err = l.release(t.Context())
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err := l.release(t.Context()); err != nil || l.held {
				t.Errorf("released again: %v", err)
			}
			if tt.name == "timed out" && !errors.As(err, new(mssql.Error)) {
				t.Errorf("the server's error is lost: %v", err)
			}
		})
	}
}
