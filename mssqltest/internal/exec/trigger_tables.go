package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// logicalTable is INSERTED or DELETED in the text of a trigger itself, nil for any other name.
func (r *run) logicalTable(n *ast.SchemaObjectName) *memTable {
	if r.trig == nil || n == nil || n.SchemaIdentifier != nil || n.BaseIdentifier == nil {
		return nil
	}
	switch {
	case sameName(n.BaseIdentifier.Value, "inserted"):
		return r.trig.inserted
	case sameName(n.BaseIdentifier.Value, "deleted"):
		return r.trig.deleted
	}
	return nil
}

// logicalTable is that of the run, which views and functions do not see.
func (sc *scope) logicalTable(n *ast.SchemaObjectName) *memTable {
	if sc.c.views > 0 {
		return nil
	}
	return sc.c.r.logicalTable(n)
}

// updated is UPDATE(column): whether the statement that fired the trigger gives the column a value.
func (sc *scope) updated(x *ast.UpdateCall) (*pred, error) {
	tr := sc.c.r.trig
	if tr == nil {
		return nil, sqlerr.New(140)
	}
	at := -1
	for i, c := range tr.def.Columns {
		if x.Identifier != nil && sc.c.same(c.Name, x.Identifier.Value) {
			at = i
		}
	}
	if at < 0 {
		return nil, sqlerr.New(207, x.Identifier.Value)
	}
	if tr.def.Columns[at].Computed != nil {
		return nil, sqlerr.New(2114, x.Identifier.Value)
	}
	answer := no
	if tr.sets(at) {
		answer = yes
	}
	return &pred{test: func(*frame) (tri, error) { return answer, nil }}, nil
}

func (tr *triggerRun) sets(col int) bool {
	switch tr.event {
	case onInsert:
		return true
	case onUpdate:
		return tr.set[col]
	}
	return false
}

// columnsUpdated is COLUMNS_UPDATED(): a bit for each column id, the lowest first.
func (r *run) columnsUpdated(_ []value.Value) (value.Value, error) {
	tr := r.trig
	if tr == nil {
		return value.Value{}, sqlerr.New(140)
	}
	most := 0
	for _, c := range tr.def.Columns {
		most = max(most, c.ID)
	}
	bits := make([]byte, (most+7)/8)
	for i, c := range tr.def.Columns {
		if tr.sets(i) {
			bits[(c.ID-1)/8] |= 1 << ((c.ID - 1) % 8)
		}
	}
	return value.NewVarBinary(bits), nil
}

// triggerNestLevel is TRIGGER_NESTLEVEL: how many triggers are running, or how often the one of an object id is.
func (r *run) triggerNestLevel(args []value.Value) (value.Value, error) {
	n := int64(0)
	for p := r; p != nil; p = p.parent {
		if p.trig != nil && (len(args) == 0 || args[0].IsNull() || args[0].Int() == 0 || int32(args[0].Int()) == p.trig.m.ID) {
			n++
		}
	}
	return value.NewInt(value.Int, n), nil
}
