package mssqlcdc

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

// The enforced foreign keys of the table whose quoted name is @name, from it and to it, and its enabled triggers.
const (
	sqlBulkRelations = `SELECT f.name, ps.name, p.name, rs.name, r.name, CAST(f.delete_referential_action AS int), CAST(f.update_referential_action AS int)
FROM sys.foreign_keys AS f
 JOIN sys.tables AS p ON p.object_id = f.parent_object_id JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
 JOIN sys.tables AS r ON r.object_id = f.referenced_object_id JOIN sys.schemas AS rs ON rs.schema_id = r.schema_id
WHERE f.is_disabled = 0 AND (f.parent_object_id = OBJECT_ID(@name) OR f.referenced_object_id = OBJECT_ID(@name)) ORDER BY f.name;
SELECT t.name FROM sys.triggers AS t WHERE t.parent_id = OBJECT_ID(@name) AND t.is_disabled = 0 ORDER BY t.name`
	declBulkRelations = "@name nvarchar(776)"
)

// errBulkConflict is the number for a row that a foreign key or CHECK constraint refuses.
const errBulkConflict = 547

// bulkRelations is what else happens when rows of a table change.
type bulkRelations struct {
	parents  []catalog.Name // tables that its foreign keys point to, without itself
	keys     []string       // names of the enforced foreign keys that it has
	cascades []string       // names of those to it that change other tables
	triggers []string
}

func (w *bulkWorker) relations(ctx context.Context, name catalog.Name) (*bulkRelations, error) {
	r := &bulkRelations{}
	s := request.Statement{Text: sqlBulkRelations, Decl: declBulkRelations, Args: []driver.Value{name.Quoted()}}
	err := request.Each(ctx, w.conn, s, func(set int, _ []string, row []driver.Value) error {
		text := func(i int) string { s, _ := row[i].(string); return s }
		if set == 1 {
			r.triggers = append(r.triggers, text(0))
			return nil
		}
		child, parent := catalog.Name{Schema: text(1), Object: text(2)}, catalog.Name{Schema: text(3), Object: text(4)}
		if sameTable(child, name) {
			r.keys = append(r.keys, text(0))
			if !sameTable(parent, name) {
				r.parents = append(r.parents, parent)
			}
		}
		if sameTable(parent, name) && (row[5] != int64(0) || row[6] != int64(0)) {
			r.cascades = append(r.cascades, text(0))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the foreign keys of %s: %w", name, err)
	}
	return r, nil
}

// sameTable compares names as most databases do. Taking two tables for one costs a transaction more.
func sameTable(a, b catalog.Name) bool {
	return strings.EqualFold(a.Schema, b.Schema) && strings.EqualFold(a.Object, b.Object)
}

// warnings are what somebody should know who lets changes be applied to the table.
func (r *bulkRelations) warnings(name catalog.Name) (out []string) {
	if len(r.parents) > 0 {
		out = append(out, fmt.Sprintf("table %s has enforced foreign keys (%s): its rows are refused when they come before those that they point to. "+
			"Changes of several tables come in the right order with ordering: global at the input and all of them through one output; else turn the keys off: ALTER TABLE %s NOCHECK CONSTRAINT %s",
			name, strings.Join(r.keys, ", "), name.Quoted(), quotedList(r.keys)))
	}
	if len(r.cascades) > 0 {
		out = append(out, fmt.Sprintf("foreign keys to table %s cascade (%s): the server changes other tables by itself, whose changes come from the source as well", name, strings.Join(r.cascades, ", ")))
	}
	if len(r.triggers) > 0 {
		out = append(out, fmt.Sprintf("table %s has enabled triggers (%s): they fire for the rows that are applied, also for those that come again", name, strings.Join(r.triggers, ", ")))
	}
	return out
}

func quotedList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = catalog.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// warn says once for each table what changes of it lead to.
func (o *bulkOutput) warn(name catalog.Name, r *bulkRelations) {
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
	for _, text := range r.warnings(name) {
		o.log.Warn(text)
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
	at := slices.IndexFunc(s.names, func(n catalog.Name) bool { return sameTable(n, name) })
	if at < 0 {
		s.names, s.parents = append(s.names, name), append(s.parents, parents)
		return true
	}
	in := func(list []catalog.Name, n catalog.Name) bool {
		return slices.ContainsFunc(list, func(x catalog.Name) bool { return sameTable(x, n) })
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
				parents = t.relations.parents
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
