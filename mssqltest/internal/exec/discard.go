package exec

import (
	"errors"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) Columns([]Column) error                  { return nil }
func (discard) Row([]value.Value) error                 { return nil }
func (discard) DoneStatement(uint16, int64, bool) error { return nil }
func (discard) Message(*sqlerr.Error) error             { return nil }
func (discard) Env(int, []byte, []byte) error           { return nil }
func (discard) Return(int32) error                      { return nil }

// capture is a sink that keeps result rows; everything but rows and their columns goes on to another sink.
type capture struct {
	to   Sink
	cols [][]Column
	sets [][][]value.Value
	row  func(cols []Column, row []value.Value) error // instead of keeping
}

func (c *capture) Columns(cols []Column) error {
	c.cols = append(c.cols, cols)
	if c.row == nil {
		c.sets = append(c.sets, nil)
	}
	return nil
}

func (c *capture) Row(row []value.Value) error {
	if c.row != nil {
		return c.row(c.cols[len(c.cols)-1], row)
	}
	n := len(c.sets) - 1
	c.sets[n] = append(c.sets[n], append([]value.Value(nil), row...))
	return nil
}

func (c *capture) DoneStatement(uint16, int64, bool) error { return nil }
func (c *capture) Message(e *sqlerr.Error) error           { return c.to.Message(e) }
func (c *capture) Env(kind int, n, o []byte) error         { return c.to.Env(kind, n, o) }
func (c *capture) Return(int32) error                      { return nil }

// asSQL is the SQL error in err, nil if it is something else.
func (r *run) asSQL(err error) *sqlerr.Error {
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return se
	}
	return nil
}
