package request

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"example.com/mssqlcdc/checkpoint"
)

// answer is a server's: result sets of rows of one number, and the error after them.
type answer struct {
	sets   [][]int64
	err    error // instead of the end of the last set
	late   error // of Close
	closed int
	at     int
	row    int
	asked  string
}

func (a *answer) Query(_ context.Context, text, decl string, args ...driver.Value) (driver.RowsNextResultSet, error) {
	a.asked = fmt.Sprint(text, "|", decl, "|", args)
	if len(a.sets) == 0 {
		return nil, a.err
	}
	return a, nil
}

func (a *answer) Columns() []string      { return []string{fmt.Sprintf("c%d", a.at)} }
func (a *answer) Close() error           { a.closed++; return a.late }
func (a *answer) HasNextResultSet() bool { return a.at+1 < len(a.sets) }
func (a *answer) NextResultSet() error   { a.at++; a.row = 0; return nil }
func (a *answer) Next(dest []driver.Value) error {
	if a.row == len(a.sets[a.at]) {
		if a.err != nil && a.at == len(a.sets)-1 {
			return a.err
		}
		return io.EOF
	}
	dest[0] = a.sets[a.at][a.row]
	a.row++
	return nil
}

var errServer = errors.New("the server's")

func TestEach(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    answer
		want []string
		err  error
	}{
		{"rows of every set", answer{sets: [][]int64{{1, 2}, {}, {3}}}, []string{"0 [c0] 1", "0 [c0] 2", "2 [c2] 3"}, nil},
		{"an error at once", answer{err: errServer}, nil, errServer},
		{"an error after rows", answer{sets: [][]int64{{1}}, err: errServer}, []string{"0 [c0] 1"}, errServer},
		{"an error of Close", answer{sets: [][]int64{{1}}, late: errServer}, []string{"0 [c0] 1"}, errServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := Each(t.Context(), &tt.a, Statement{Text: "x"}, func(set int, names []string, row []driver.Value) error {
				got = append(got, fmt.Sprint(set, " ", names, " ", row[0]))
				return nil
			})
			if !errors.Is(err, tt.err) || !slices.Equal(got, tt.want) {
				t.Errorf("got %q and %v, want %q and %v", got, err, tt.want, tt.err)
			}
			if want := min(1, len(tt.a.sets)); tt.a.closed != want {
				t.Errorf("closed %d times, want %d", tt.a.closed, want)
			}
		})
	}
}

func TestEachStopsAtAnErrorOfItsFunction(t *testing.T) {
	a := answer{sets: [][]int64{{1, 2}}}
	n := 0
	err := Each(t.Context(), &a, Statement{}, func(int, []string, []driver.Value) error { n++; return errServer })
	if !errors.Is(err, errServer) || n != 1 || a.closed != 1 {
		t.Errorf("%v after %d rows, closed %d times", err, n, a.closed)
	}
}

func TestSetsCountsThem(t *testing.T) {
	for sets, wantErr := range map[int]bool{1: false, 2: false, 3: true} {
		a := answer{sets: make([][]int64, sets)}
		row := func([]driver.Value) error { return nil }
		n, err := Sets(t.Context(), &a, Statement{}, row, row)
		if (err != nil) != wantErr || n != min(sets, 2) || a.closed != 1 {
			t.Errorf("%d sets for two functions: %d, %v, closed %d times", sets, n, err, a.closed)
		}
	}
}

func TestStatementDeclaresItsParameters(t *testing.T) {
	var s Statement
	s.Text = "t"
	s.Param("@a", "int", int64(1))
	s.Param("@b", "binary(10)", []byte{2})
	a := answer{err: errServer}
	_ = Each(t.Context(), &a, s, nil)
	if want := "t|@a int, @b binary(10)|[1 [2]]"; a.asked != want {
		t.Errorf("asked %q, want %q", a.asked, want)
	}
}

func TestLSNOfACell(t *testing.T) {
	l := checkpoint.LSN{9: 5}
	if got, err := LSN(l[:]); err != nil || got != l {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := LSN(nil); err != nil || !got.IsZero() {
		t.Errorf("NULL: %s, %v", got, err)
	}
	for _, v := range []driver.Value{int64(1), []byte{1, 2}} {
		if _, err := LSN(v); err == nil {
			t.Errorf("%v is taken for an LSN", v)
		}
	}
}

func TestBeforeBorrows(t *testing.T) {
	for _, tt := range []struct{ l, want checkpoint.LSN }{
		{checkpoint.LSN{9: 5}, checkpoint.LSN{9: 4}},
		{checkpoint.LSN{7: 1}, checkpoint.LSN{8: 0xff, 9: 0xff}},
		{checkpoint.LSN{}, checkpoint.LSN{}},
	} {
		if got := Before(tt.l); got != tt.want {
			t.Errorf("before %s: %s, want %s", tt.l, got, tt.want)
		}
		if !tt.l.IsZero() && Before(tt.l).Next() != tt.l {
			t.Errorf("before %s and back", tt.l)
		}
	}
}
