package exec

import (
	"strings"
)

// minMax reads only the end of an index for SELECT MIN(c) or MAX(c) without GROUP BY, where an index gives that order.
func (p *levelPlan) minMax(root fromNode, where []*pred) error {
	leaf, ok := root.(*leafNode)
	if !ok || leaf.table == nil || leaf.table.t == nil || p.group == nil || p.group.any || len(p.group.aggs) != 1 {
		return nil
	}
	a := p.group.aggs[0]
	name := strings.ToUpper(a.fn.Name)
	if name != "MIN" && name != "MAX" || len(a.args) != 1 || a.args[0].col == nil {
		return nil
	}
	want := &wanted{order: []sortKey{{e: a.args[0], desc: name == "MAX"}}}
	src, err := p.sc.planFrom(root, where, want)
	if err != nil {
		return err
	}
	if want.met {
		p.src = &firstValue{src, *a.args[0].col}
	}
	return nil
}

// firstValue stops its source at the first row in which a column is not NULL.
type firstValue struct {
	in  source
	col colRef
}

func (s *firstValue) each(f *frame, yield func() error) error {
	done := false
	err := s.in.each(f, func() error {
		if f.rows[s.col.table][s.col.col].IsNull() {
			return nil
		}
		if err := yield(); err != nil {
			return err
		}
		done = true
		return errStop
	})
	if err == errStop && done {
		return nil
	}
	return err
}
