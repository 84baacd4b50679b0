package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/builtin"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// grouping is what GROUP BY makes of a query level. Expressions above it are evaluated on the first row of each group,
// which is right for the grouped expressions, and read aggregates from the frame's slots; any other column is 8120.
type grouping struct {
	cols   map[colRef]bool
	prints map[string]bool // fingerprints of grouped expressions that are not plain columns
	inAgg  bool            // inside an aggregate's argument or a grouped expression, where columns are free
	aggs   []*aggregateCall
	by     []*expr
	any    bool   // there is a GROUP BY
	where  string // "select list", "HAVING clause" or "ORDER BY clause", for the message
}

// checkColumn is 8120 and its relatives.
func (g *grouping) checkColumn(sc *scope, table, col int) error {
	if g.cols[colRef{table, col}] {
		return nil
	}
	t := sc.tables[table]
	name := t.alias + "." + t.cols[col].Name
	if t.source != nil && !t.aliased {
		name = t.schema + "." + name
		if t.schema == "" {
			name = t.alias + "." + t.cols[col].Name
		}
	}
	switch g.where {
	case "HAVING clause":
		return sqlerr.New(8121, name)
	case "ORDER BY clause":
		return sqlerr.New(8127, name)
	}
	return sqlerr.New(8120, name)
}

// grouped reports whether an expression is one of the grouped ones.
func (g *grouping) grouped(sc *scope, n ast.ScalarExpression) bool {
	if len(g.prints) == 0 {
		return false
	}
	if _, plain := n.(*ast.ColumnReferenceExpression); plain {
		return false
	}
	return g.prints[fingerprint(sc, n)]
}

// aggregateCall is one aggregate of a query level.
type aggregateCall struct {
	fn       builtin.Aggregate
	args     []*expr
	types    []value.Type
	typ      value.Type
	distinct bool
	order    []sortKey // STRING_AGG … WITHIN GROUP
	slot     int
}

func isAggregate(name string) bool {
	if name == "GROUPING" || name == "GROUPING_ID" {
		return false
	}
	_, ok := builtin.LookupAggregate(name)
	return ok
}

// aggregate compiles an aggregate and gives it a slot.
func (sc *scope) aggregate(x *ast.FunctionCall) (*expr, error) {
	at := sc
	if at.group == nil || at.group.inAgg {
		if sc.noAgg == "" && at.group != nil {
			return nil, sqlerr.New(130)
		}
		return nil, sqlerr.New(147)
	}
	g := at.group
	g.inAgg = true
	a, err := sc.aggregateCall(x)
	g.inAgg = false
	if err != nil {
		return nil, err
	}
	a.slot = len(g.aggs)
	g.aggs = append(g.aggs, a)
	slot := a.slot
	name := strings.ToUpper(x.FunctionName.Value)
	return &expr{typ: a.typ, nullable: name != "COUNT" && name != "COUNT_BIG", eval: func(f *frame) (value.Value, error) { return f.slots[slot], nil }}, nil
}

// aggregateCall compiles the arguments of an aggregate; COUNT(*) has none.
func (sc *scope) aggregateCall(x *ast.FunctionCall) (*aggregateCall, error) {
	name := strings.ToUpper(x.FunctionName.Value)
	fn, _ := builtin.LookupAggregate(name)
	a := &aggregateCall{fn: fn, distinct: strings.EqualFold(x.UniqueRowFilter, "Distinct")}
	star := false
	if len(x.Parameters) == 1 {
		if c, ok := x.Parameters[0].(*ast.ColumnReferenceExpression); ok && c.ColumnType == "Wildcard" {
			star = true
		}
	}
	if star {
		if name != "COUNT" && name != "COUNT_BIG" {
			return nil, sqlerr.New(102, "*")
		}
	} else {
		if len(x.Parameters) == 0 {
			return nil, sqlerr.New(174, strings.ToLower(name), 1)
		}
		es, err := sc.scalars(x.Parameters)
		if err != nil {
			return nil, err
		}
		for i, e := range es {
			if e.typ.ID == value.Null {
				if i == 0 && name != "COUNT" && name != "COUNT_BIG" {
					return nil, sqlerr.New(8117, "NULL", strings.ToLower(name))
				}
				es[i] = sc.c.coerce(e, typeInt)
			}
			a.types = append(a.types, es[i].typ)
		}
		a.args = es
		if name == "STRING_AGG" && !isString(a.types[0]) {
			a.args[0] = sc.c.coerce(a.args[0], nvarcharType(4000, sc.c.collation()))
			a.types[0] = a.args[0].typ
		}
	}
	t, err := fn.Type(a.types)
	if err != nil {
		return nil, err
	}
	if isString(t) && t.Coll == nil {
		t.Coll = sc.c.collation()
		if len(a.types) > 0 && a.types[0].Coll != nil {
			t.Coll = a.types[0].Coll
		}
	}
	a.typ = t
	if x.WithinGroupClause != nil && x.WithinGroupClause.OrderByClause != nil {
		for _, o := range x.WithinGroupClause.OrderByClause.OrderByElements {
			e, err := sc.scalar(o.Expression)
			if err != nil {
				return nil, err
			}
			a.order = append(a.order, sortKey{e, descending(o)})
		}
	}
	return a, nil
}

func descending(o *ast.ExpressionWithSortOrder) bool { return o.SortOrder == "Descending" }

// accumulator adds up one aggregate over one group.
type accumulator struct {
	call *aggregateCall
	acc  builtin.Accumulator
	seen map[string]bool
	kept []keptArgs // while the order of a STRING_AGG is not known
	buf  []byte
}

type keptArgs struct {
	key  string
	args []value.Value
}

func newAccumulator(r *run, a *aggregateCall) *accumulator {
	acc := &accumulator{call: a, acc: a.fn.New(&r.s.env, a.types)}
	if a.distinct {
		acc.seen = map[string]bool{}
	}
	return acc
}

func (a *accumulator) add(f *frame) error {
	args, err := evalAll(a.call.args, f)
	if err != nil {
		return err
	}
	if a.seen != nil && len(args) > 0 {
		if args[0].IsNull() {
			return a.acc.Add(args)
		}
		a.buf = value.AppendKey(a.buf[:0], args[0], a.call.types[0], false)
		if a.seen[string(a.buf)] {
			return nil
		}
		a.seen[string(a.buf)] = true
	}
	if len(a.call.order) > 0 {
		key, err := sortKeyOf(nil, a.call.order, f)
		if err != nil {
			return err
		}
		a.kept = append(a.kept, keptArgs{string(key), args})
		return nil
	}
	return a.acc.Add(args)
}

func (a *accumulator) result() (value.Value, error) {
	if len(a.kept) > 0 {
		sortKept(a.kept)
		for _, k := range a.kept {
			if err := a.acc.Add(k.args); err != nil {
				return value.Value{}, err
			}
		}
		a.kept = nil
	}
	return a.acc.Result()
}
