package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// registrar collects the system objects of this package.
type registrar struct {
	reg    *exec.Registry
	config *configuration
}

// view registers a view whose rows are named cells; cells that a row leaves out are NULL, or zero where the column
// cannot be NULL.
func (r registrar) view(schema, name, cols string, rows func(s *source) iter.Seq[sysrow.Row]) {
	r.reg.AddView(newView(schema, name, cols, rows))
}

// viewInMaster registers a view that only master has.
func (r registrar) viewInMaster(schema, name, cols string, rows func(s *source) iter.Seq[sysrow.Row]) {
	v := newView(schema, name, cols, rows)
	v.InMaster = true
	r.reg.AddView(v)
}

func newView(schema, name, cols string, rows func(s *source) iter.Seq[sysrow.Row]) *exec.View {
	v := &exec.View{Schema: schema, Name: name, Columns: sysrow.Columns(cols)}
	v.Rows = func(c *exec.Context) iter.Seq2[[]value.Value, error] {
		return func(yield func([]value.Value, error) bool) {
			for row := range rows(sourceOf(c)) {
				vals, err := sysrow.Cells(v.Columns, row, c.Instance().Storage.Location())
				if !yield(vals, err) || err != nil {
					return
				}
			}
		}
	}
	return v
}

// empty registers a view without rows.
func (r registrar) empty(schema, name, cols string) {
	r.view(schema, name, cols, func(*source) iter.Seq[sysrow.Row] { return func(func(sysrow.Row) bool) {} })
}

// rowsOf makes a sequence of fixed rows.
func rowsOf(rows ...sysrow.Row) iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, row := range rows {
			if !yield(row) {
				return
			}
		}
	}
}
