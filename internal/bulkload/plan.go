package bulkload

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/session"
)

// Plan loads record batches of one schema into one table. One goroutine uses it.
type Plan struct {
	table string
	types []arrow.DataType // of the schema
	cols  []*column
	load  session.BulkLoad
	buf   []byte
}

// Result is what a load came to.
type Result struct {
	Rows int64 // stored, as the server has counted
	Bad  []RowError
}

// RowError is why a row was not sent.
type RowError struct {
	Row    int    // of the record batch
	Column string // of the table
	Err    error
}

// ErrCount is wrapped by the error of a load whose rows the server counts differently:
// an index with IGNORE_DUP_KEY or a trigger has left some out.
var ErrCount = errors.New("the counts differ")

// NewPlan fits a schema to a table. Its fields are named as the table's columns; a
// column without a field gets its default, and an identity column with one keeps
// the values. All problems are reported at once.
func NewPlan(t *Target, schema *arrow.Schema, o Options) (*Plan, error) {
	p := &Plan{table: t.Name.String()}
	var problems []error
	hints, err := ParseHints(o.Hints)
	if err != nil {
		problems = append(problems, err)
	}
	fields, more := match(t, schema)
	problems = append(problems, more...)
	for at := range t.Columns {
		tc := &t.Columns[at]
		i, given := fields[at]
		switch why := tc.reason(); {
		case !given && why == "" && !tc.Type.Nullable && !tc.HasDefault && !tc.Identity:
			problems = append(problems, fmt.Errorf("column %s: it is NOT NULL, has no default and no field", tc.Name))
		case !given:
		case why != "":
			problems = append(problems, fmt.Errorf("column %s: %s; leave the field out", tc.Name, why))
		default:
			c, err := newColumn(i, schema.Field(i), tc, o.Lossy)
			if err != nil {
				problems = append(problems, fmt.Errorf("column %s: %w", tc.Name, err))
				continue
			}
			p.cols = append(p.cols, c)
			p.load.Columns = append(p.load.Columns, c.wire.column(tc, t.Name.Object))
		}
	}
	if len(problems) == 0 && len(p.cols) == 0 {
		problems = append(problems, errors.New("the schema has no field for any of its columns"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("planning a bulk load of %s: %w", p.table, err)
	}
	p.load.Table, p.load.Hints = t.Name.Quoted(), hints
	for _, f := range schema.Fields() {
		p.types = append(p.types, f.Type)
	}
	return p, nil
}

// match finds the field of each column by name.
func match(t *Target, schema *arrow.Schema) (fields map[int]int, problems []error) {
	fields = make(map[int]int)
	for i, f := range schema.Fields() {
		at := t.Column(f.Name)
		other, taken := fields[at]
		switch {
		case at < 0:
			problems = append(problems, fmt.Errorf("field %s: the table has no column of this name", f.Name))
		case taken:
			problems = append(problems, fmt.Errorf("fields %s and %s are both for column %s", schema.Field(other).Name, f.Name, t.Columns[at].Name))
		default:
			fields[at] = i
		}
	}
	return fields, problems
}

// Columns are the table's columns that the rows carry, in the order of the table.
func (p *Plan) Columns() []string {
	out := make([]string, len(p.cols))
	for i, c := range p.cols {
		out[i] = c.name
	}
	return out
}

// Statement is the INSERT BULK of the plan's loads.
func (p *Plan) Statement() string { return p.load.Statement() }

// bind points the columns at a record batch.
func (p *Plan) bind(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(p.types) {
		return fmt.Errorf("the record batch has %d columns, the plan %d", rec.NumCols(), len(p.types))
	}
	for i, want := range p.types {
		if got := rec.Column(i).DataType(); got != want && !arrow.TypeEqual(got, want) {
			return fmt.Errorf("column %d of the record batch is %s, in the plan %s", i+1, got, want)
		}
	}
	for _, c := range p.cols {
		if err := c.vec.bind(rec.Column(c.field)); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return nil
}

// release forgets the batch's memory.
func (p *Plan) release() {
	for _, c := range p.cols {
		c.vec = vector{}
	}
}
