package mssqlcdc

import (
	"context"
	"slices"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/internal/session"
)

// errBulkConflict is the number for a row that a foreign key or CHECK constraint refuses.
const errBulkConflict = 547

// warn says once for each table what changes of it lead to.
func (o *bulkOutput) warn(name catalog.Name, r *merge.Relations) {
	if !o.cfg.mode.apply {
		return
	}
	o.mu.Lock()
	told := o.warned[name]
	if o.warned == nil || len(o.warned) >= mostBulkTables {
		o.warned = map[catalog.Name]bool{}
	}
	o.warned[name] = true
	o.mu.Unlock()
	if told {
		return
	}
	for _, w := range r.Warnings(name) {
		o.log.Warn(w.Text)
	}
}

// bulkSides is what a landing notes for the sake of other tables and of snapshots.
type bulkSides struct {
	backwards bool  // tables are changed in the other order: turnAround
	astray    []int // messages in the table of refused rows
}

// segment are messages that land together, table by table in the order in which the tables come.
type segment struct {
	names   []catalog.Name
	parents [][]catalog.Name
}

// joins tells whether a message may land together with those before it. Its table's rows go in front of those of the tables that
// came later: that is right for tables that no foreign key joins, for a parent that is made or changed, and for a child that is deleted.
func (s *segment) joins(name catalog.Name, parents []catalog.Name, op merge.Op, mixed bool) bool {
	at := slices.IndexFunc(s.names, func(n catalog.Name) bool { return merge.SameTable(n, name) })
	if at < 0 {
		s.names, s.parents = append(s.names, name), append(s.parents, parents)
		return true
	}
	in := func(list []catalog.Name, n catalog.Name) bool {
		return slices.ContainsFunc(list, func(x catalog.Name) bool { return merge.SameTable(x, n) })
	}
	for later := at + 1; later < len(s.names); later++ {
		child, parent := in(parents, s.names[later]), in(s.parents[later], name)
		switch {
		case !child && !parent:
		case mixed || child && parent || child && op != merge.OpDelete || parent && op == merge.OpDelete:
			return false
		}
	}
	return true
}

// together is how many of the messages land together, for the sake of foreign keys.
func (l *bulkLanding) together(ctx context.Context, rows []int) int {
	s := &segment{}
	for n, i := range rows {
		name, err := l.name(i)
		if err != nil {
			continue // refused later
		}
		if len(s.names) == 1 && s.names[0] == name || l.out.cfg.static != nil {
			continue
		}
		var parents []catalog.Name
		if w, err := l.connect(ctx); err == nil {
			if t, err := w.table(ctx, name); err == nil && t.relations != nil { // what is wrong is said when it lands
				parents = t.relations.Parents
			}
		}
		operation, err := l.operationOf(i)
		op, opErr := l.out.cfg.mode.op(operation, true)
		if !s.joins(name, parents, op, err != nil || opErr != nil) {
			return n
		}
	}
	return len(rows)
}

// turnAround has the tables of a batch changed in the other order, once, when a foreign key refuses a row: a cascade at the source
// deletes the parent first.
func (l *bulkLanding) turnAround(at *bulkError, rows []int) bool {
	if !at.changes || l.backwards || !session.HasNumber(at.err, errBulkConflict) || len(at.rows) == len(rows) {
		return false
	}
	l.backwards = true
	return true
}
