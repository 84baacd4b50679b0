package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/sqltype"
)

// column is a pair of columns that are compared.
type column struct {
	name             string // in the source
	target           string
	srcType, dstType sqltype.Type
	rule             rule
	key              bool // of the source's key
}

// pairing is what is compared of two tables.
type pairing struct {
	columns []column
	notes   []string
}

// pairUp finds the column of the target for each of the source. What cannot be compared is an error that names all of it.
func pairUp(src, dst *arrow.Schema, key []string, conf *Config) (*pairing, error) {
	p := &pairing{}
	var wrong []error
	taken := map[string]bool{}
	for _, f := range src.Fields() {
		isKey := slices.Contains(key, f.Name)
		if !conf.wants(f.Name) && !isKey {
			continue
		}
		st, err := sqltype.FromField(f)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		found, err := counterpart(dst, f.Name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		dt, err := sqltype.FromField(found)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		taken[found.Name] = true
		if st.Kind() == sqltype.RowVersion && dt.Kind() == sqltype.RowVersion && !isKey {
			p.notes = append(p.notes, fmt.Sprintf("column %s is not compared: each server numbers its own rowversion", f.Name))
			continue
		}
		r, err := ruleFor(st, dt, conf.Lossy)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("column %s: %w", f.Name, err))
			continue
		}
		p.columns = append(p.columns, column{name: f.Name, target: found.Name, srcType: st, dstType: dt, rule: r, key: isKey})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	if len(p.columns) == 0 {
		return nil, errors.New("there is no column to compare")
	}
	var alone []string
	for _, f := range dst.Fields() {
		if !taken[f.Name] && conf.wants(f.Name) {
			alone = append(alone, f.Name)
		}
	}
	if len(alone) > 0 {
		p.notes = append(p.notes, "columns of the target alone, not compared: "+strings.Join(alone, ", "))
	}
	return p, nil
}

// counterpart finds a column by its name, or by one that differs in case only.
func counterpart(s *arrow.Schema, name string) (found arrow.Field, _ error) {
	n := 0
	for _, f := range s.Fields() {
		if f.Name == name {
			return f, nil
		}
		if strings.EqualFold(f.Name, name) {
			found, n = f, n+1
		}
	}
	if n == 1 {
		return found, nil
	}
	return found, fmt.Errorf("column %s: the target has no such column that can hold values; leave it out", name)
}

func (p *pairing) names(of func(column) string) (out []string) {
	for _, c := range p.columns {
		out = append(out, of(c))
	}
	return out
}

// String says what is compared and how, so that a stored comparison is not gone on with as another.
func (p *pairing) String() string {
	var b strings.Builder
	for _, c := range p.columns {
		fmt.Fprintf(&b, "%s %s %s %s %v %t;", c.name, c.srcType, c.target, c.dstType, c.rule, c.key)
	}
	return b.String()
}
