package exec

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// fromNode is a compiled table reference before an access path is chosen.
type fromNode interface {
	// mask has a bit for each table below the node.
	mask() uint64
}

// leafNode is one table of the scope: it fills frame.rows[slot].
type leafNode struct {
	slot  int
	table *boundTable // a stored table: may be sought
	open  rowsFunc    // anything else
	inner *levelPlan  // behind open: a view or the like that conditions can be moved into
	// needs are the tables of the same scope that open reads (APPLY).
	needs uint64
}

// rowsFunc produces the rows of a derived table, a function or the like, each in a slice of its own.
type rowsFunc func(f *frame, yield func([]rowValue) error) error

func (l *leafNode) mask() uint64 { return 1 << uint(l.slot) }

type joinKind uint8

const (
	innerJoin joinKind = iota
	leftJoin
	fullJoin
)

// joinNode joins two references; a right join is a left join with its sides exchanged.
type joinNode struct {
	kind        joinKind
	left, right fromNode
	on          []*pred
	lateral     bool
}

func (j *joinNode) mask() uint64 { return j.left.mask() | j.right.mask() }

// from compiles a FROM clause; several references are a cross join. nil means no FROM.
func (sc *scope) from(refs []ast.TableReference) (fromNode, error) {
	var root fromNode
	for _, ref := range refs {
		n, err := sc.tableRef(ref, false)
		if err != nil {
			return nil, err
		}
		if root == nil {
			root = n
		} else {
			root = &joinNode{left: root, right: n}
		}
	}
	return root, nil
}

// tableRef compiles one table reference; lateral ones (the right side of APPLY) see the tables before them.
func (sc *scope) tableRef(ref ast.TableReference, lateral bool) (fromNode, error) {
	if ref == nil || reflect.ValueOf(ref).IsNil() {
		return nil, sqlerr.New(102, "")
	}
	switch x := ref.(type) {
	case *ast.NamedTableReference:
		return sc.namedTable(x)
	case *ast.VariableTableReference:
		return sc.tableVariable(x)
	case *ast.QueryDerivedTable:
		return sc.derived(x.QueryExpression, x.Alias, x.Columns, lateral)
	case *ast.InlineDerivedTable:
		return sc.valuesTable(x, lateral)
	case *ast.JoinParenthesisTableReference:
		return sc.tableRef(x.Join, lateral)
	case *ast.QualifiedJoin:
		return sc.qualifiedJoin(x)
	case *ast.UnqualifiedJoin:
		return sc.unqualifiedJoin(x)
	case *ast.SchemaObjectFunctionTableReference:
		return sc.tableFunction(x, lateral)
	case *ast.OpenJsonTableReference:
		return sc.openJSON(x, lateral)
	case *ast.GlobalFunctionTableReference:
		return sc.globalTableFunction(x, lateral)
	}
	return nil, notSupported("the table reference " + strings.TrimPrefix(reflect.TypeOf(ref).String(), "*ast."))
}

func (sc *scope) qualifiedJoin(x *ast.QualifiedJoin) (fromNode, error) {
	l, err := sc.tableRef(x.FirstTableReference, false)
	if err != nil {
		return nil, err
	}
	r, err := sc.tableRef(x.SecondTableReference, false)
	if err != nil {
		return nil, err
	}
	j := &joinNode{left: l, right: r}
	switch x.QualifiedJoinType {
	case "Inner", "":
	case "LeftOuter":
		j.kind = leftJoin
		sc.markOuter(r.mask())
	case "RightOuter":
		j.kind = leftJoin
		j.left, j.right = r, l
		sc.markOuter(l.mask())
	case "FullOuter":
		j.kind = fullJoin
		sc.markOuter(l.mask() | r.mask())
	default:
		return nil, notSupported("the join " + x.QualifiedJoinType)
	}
	if j.on, err = sc.conjuncts(nil, x.SearchCondition); err != nil {
		return nil, err
	}
	return j, nil
}

func (sc *scope) unqualifiedJoin(x *ast.UnqualifiedJoin) (fromNode, error) {
	l, err := sc.tableRef(x.FirstTableReference, false)
	if err != nil {
		return nil, err
	}
	apply := x.UnqualifiedJoinType == "CrossApply" || x.UnqualifiedJoinType == "OuterApply"
	r, err := sc.tableRef(x.SecondTableReference, apply)
	if err != nil {
		return nil, err
	}
	j := &joinNode{left: l, right: r, lateral: apply}
	if x.UnqualifiedJoinType == "OuterApply" {
		j.kind = leftJoin
		sc.markOuter(r.mask())
	}
	return j, nil
}

func (sc *scope) markOuter(m uint64) {
	for i, t := range sc.tables {
		if m&(1<<uint(i)) != 0 {
			t.outer = true
		}
	}
}

// conjuncts compiles a condition into the list of its AND parts; BETWEEN counts as two.
func (sc *scope) conjuncts(dst []*pred, n ast.BooleanExpression) ([]*pred, error) {
	var err error
	switch x := n.(type) {
	case *ast.BooleanParenthesisExpression:
		return sc.conjuncts(dst, x.Expression)
	case *ast.BooleanBinaryExpression:
		if x.BinaryExpressionType == "And" {
			if dst, err = sc.conjuncts(dst, x.FirstExpression); err != nil {
				return nil, err
			}
			return sc.conjuncts(dst, x.SecondExpression)
		}
	case *ast.BooleanTernaryExpression:
		if x.TernaryExpressionType == "Between" {
			for _, c := range [...]*ast.BooleanComparisonExpression{
				{ComparisonType: "GreaterThanOrEqualTo", FirstExpression: x.FirstExpression, SecondExpression: x.SecondExpression},
				{ComparisonType: "LessThanOrEqualTo", FirstExpression: x.FirstExpression, SecondExpression: x.ThirdExpression},
			} {
				p, err := sc.pred(c)
				if err != nil {
					return nil, err
				}
				dst = append(dst, p)
			}
			return dst, nil
		}
	}
	p, err := sc.pred(n)
	if err != nil {
		return nil, err
	}
	return append(dst, p), nil
}
