package exec

import (
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// setOperation compiles UNION [ALL], EXCEPT and INTERSECT.
func (c *compiler) setOperation(x *ast.BinaryQueryExpression, outer *scope, kind queryKind) (*query, error) {
	inner := kind
	if inner == topQuery || inner == insertQuery {
		inner = subQuery
	}
	a, err := c.query(x.FirstQueryExpression, outer, inner)
	if err != nil {
		return nil, err
	}
	b, err := c.query(x.SecondQueryExpression, outer, inner)
	if err != nil {
		return nil, err
	}
	if len(a.cols) != len(b.cols) {
		return nil, sqlerr.New(205)
	}
	if a.assign || b.assign {
		return nil, sqlerr.New(10734)
	}
	q := &query{}
	ca, cb := make([]conversion, len(a.cols)), make([]conversion, len(a.cols))
	for i := range a.cols {
		l := &expr{typ: a.cols[i].Type, coll: collImplicit}
		r := &expr{typ: b.cols[i].Type, coll: collImplicit}
		t, err := c.unify([]*expr{l, r})
		if err != nil {
			return nil, err
		}
		col := Column{Name: a.cols[i].Name, Type: t, Nullable: a.cols[i].Nullable || b.cols[i].Nullable}
		if x.BinaryQueryExpressionType == "Except" || x.BinaryQueryExpressionType == "Intersect" {
			col.Nullable = a.cols[i].Nullable
		}
		q.cols = append(q.cols, col)
		ca[i], cb[i] = conversion{a.cols[i].Type, t}, conversion{b.cols[i].Type, t}
	}
	types := q.types()
	exec := c.setRun(x, a, b, ca, cb, types)
	q.run = exec
	if x.OrderByClause == nil {
		return q, nil
	}
	keys := make([]int, 0, len(x.OrderByClause.OrderByElements))
	desc := make([]bool, 0, len(keys))
	keyTypes := slices.Clone(types)
	for _, o := range x.OrderByClause.OrderByElements {
		n := o.Expression
		var coll *collate.Collation
		if f, ok := n.(*ast.FunctionCall); ok && f.FunctionName.Value == collateCall && len(f.Parameters) == 2 {
			n = f.Parameters[0]
			if s, ok := f.Parameters[1].(*ast.StringLiteral); ok {
				if coll, err = c.lookupCollation(s.Value); err != nil {
					return nil, err
				}
			}
		}
		at, err := c.outputColumn(n, q.cols)
		if err != nil {
			return nil, err
		}
		if at < 0 {
			return nil, sqlerr.New(104)
		}
		if coll != nil && isString(keyTypes[at]) {
			keyTypes[at].Coll = coll
		}
		keys, desc = append(keys, at), append(desc, descending(o))
	}
	q.run = func(r *run, outer *frame, emit func([]rowValue) error) error {
		var rows []keyedRow
		err := exec(r, outer, func(row []rowValue) error {
			var key []byte
			for i, k := range keys {
				key = value.AppendKey(key, row[k], keyTypes[k], desc[i])
			}
			rows = append(rows, keyedRow{string(key), row})
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortStableFunc(rows, func(a, b keyedRow) int { return strings.Compare(a.key, b.key) })
		for _, k := range rows {
			if err := emit(k.row); err != nil {
				return err
			}
		}
		return nil
	}
	return q, nil
}

// conversion brings a column of one side to the common type.
type conversion struct{ from, to value.Type }

func convertRow(r *run, row []rowValue, cs []conversion) ([]rowValue, error) {
	for i, c := range cs {
		if row[i].IsNull() || sameRep(c.from, c.to) {
			continue
		}
		v, err := value.Convert(&r.s.env, row[i], c.from, c.to, 0)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}

func (c *compiler) setRun(x *ast.BinaryQueryExpression, a, b *query, ca, cb []conversion, types []value.Type) func(*run, *frame, func([]rowValue) error) error {
	side := func(q *query, cs []conversion, r *run, outer *frame, emit func([]rowValue) error) error {
		return q.run(r, outer, func(row []rowValue) error {
			row, err := convertRow(r, row, cs)
			if err != nil {
				return err
			}
			return emit(row)
		})
	}
	switch x.BinaryQueryExpressionType {
	case "Except", "Intersect":
		keep := x.BinaryQueryExpressionType == "Intersect"
		return func(r *run, outer *frame, emit func([]rowValue) error) error {
			in, seen := map[string]bool{}, map[string]bool{}
			var buf []byte
			err := side(b, cb, r, outer, func(row []rowValue) error {
				buf = rowKeyOf(buf[:0], row, types)
				in[string(buf)] = true
				return nil
			})
			if err != nil {
				return err
			}
			return side(a, ca, r, outer, func(row []rowValue) error {
				buf = rowKeyOf(buf[:0], row, types)
				if in[string(buf)] != keep || seen[string(buf)] {
					return nil
				}
				seen[string(buf)] = true
				return emit(row)
			})
		}
	}
	all := x.All
	return func(r *run, outer *frame, emit func([]rowValue) error) error {
		out := emit
		if !all {
			seen := map[string]bool{}
			var buf []byte
			out = func(row []rowValue) error {
				buf = rowKeyOf(buf[:0], row, types)
				if seen[string(buf)] {
					return nil
				}
				seen[string(buf)] = true
				return emit(row)
			}
		}
		if err := side(a, ca, r, outer, out); err != nil {
			return err
		}
		return side(b, cb, r, outer, out)
	}
}
