package exec

import (
	"iter"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// funcScope is the scope in which a function's arguments are compiled: they see the tables before them only in APPLY.
func (sc *scope) funcScope(lateral bool) (*scope, func(f *frame) *frame) {
	if lateral {
		return &scope{c: sc.c, outer: sc}, func(f *frame) *frame { return &frame{r: f.r, outer: f} }
	}
	return &scope{c: sc.c, outer: sc.outer}, func(f *frame) *frame { return &frame{r: f.r, outer: f.outer} }
}

// tableFunction compiles a table-valued function of the server or of a user in FROM.
func (sc *scope) tableFunction(x *ast.SchemaObjectFunctionTableReference, lateral bool) (fromNode, error) {
	o, err := sc.c.nameOf(x.SchemaObject)
	if err != nil {
		return nil, err
	}
	t := &tableSlot{alias: o.name, db: o.db.Name(), schema: o.schema, name: o.name}
	if x.Alias != nil {
		t.alias, t.aliased = x.Alias.Value, true
	}
	r := sc.c.r
	in, at := sc.funcScope(lateral)
	reads := sc.reads
	sc.reads = 0
	node, err := sc.anyTableFunction(r, o, t, in, at, x.Parameters, identifierNames(x.Columns))
	if leaf, ok := node.(*leafNode); ok && lateral {
		leaf.needs = sc.reads
	}
	sc.reads = reads
	return node, err
}

func (sc *scope) anyTableFunction(r *run, o objectName, t *tableSlot, in *scope, at func(*frame) *frame, params []ast.ScalarExpression, names []string) (fromNode, error) {
	reg := r.s.in.Registry
	f := reg.table(o.schema, o.name)
	if f == nil && reg.FindTableFunc != nil {
		f = reg.FindTableFunc(r.context(o.db), o.db, o.schema, o.name)
	}
	if f != nil {
		return sc.serverFunction(f, o.db, t, in, at, params, names)
	}
	m, _ := r.object(o.db, o.schema, o.name).(*storage.Module)
	if m == nil {
		return nil, sqlerr.New(208, o.text)
	}
	fn, _ := m.Parsed.(*function)
	if fn == nil || fn.returns != nil {
		return nil, sqlerr.New(208, o.text)
	}
	if err := r.permit(o.db, m.Header(), "SELECT"); err != nil {
		return nil, err
	}
	if len(params) > len(fn.params) {
		return nil, sqlerr.New(8144, o.text)
	}
	if len(params) < len(fn.params) {
		return nil, sqlerr.New(313, o.text)
	}
	args, err := in.functionArgs(fn, params)
	if err != nil {
		return nil, err
	}
	if fn.table != nil {
		t.cols = columnsOf(fn.table)
		slot, err := sc.add(t)
		return &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
			vs, err := evalAll(args, at(f))
			if err != nil {
				return err
			}
			rows, err := f.r.callTable(o.db, m, fn, vs)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := yield(row.Vals); err != nil {
					return err
				}
			}
			return nil
		}}, err
	}
	return sc.inlineFunction(o.db, fn, args, at, t, names)
}

// inlineFunction expands RETURNS TABLE AS RETURN (SELECT …): the body is compiled with the parameters as variables.
func (sc *scope) inlineFunction(db *storage.Database, fn *function, args []*expr, at func(*frame) *frame, t *tableSlot, names []string) (fromNode, error) {
	c := sc.c.at(db)
	if c.views > maxViews {
		return nil, sqlerr.New(217, maxViews)
	}
	body := *c.r
	body.vars = map[string]*variable{}
	vars := make([]*variable, len(fn.params))
	for i, p := range fn.params {
		vars[i] = &variable{name: p.name, typ: p.typ}
		body.vars[strings.ToLower(p.name)] = vars[i]
	}
	c.r = &body
	q, err := c.selectQuery(fn.query, nil, subQuery)
	if err != nil {
		return nil, err
	}
	inner := q.run
	q.run = func(r *run, outer *frame, emit func([]rowValue) error) error {
		vs, err := evalAll(args, outer)
		if err != nil {
			return err
		}
		for i, v := range vs {
			vars[i].val = v
		}
		return inner(r, nil, emit)
	}
	return sc.queryTable(q, t, names, at)
}

// serverFunction calls a table-valued function of the registry.
func (sc *scope) serverFunction(fn *TableFunc, db *storage.Database, t *tableSlot, in *scope, at func(*frame) *frame, params []ast.ScalarExpression, names []string) (fromNode, error) {
	if len(params) < fn.Min || fn.Max >= 0 && len(params) > fn.Max {
		if len(params) > fn.Max && fn.Max >= 0 {
			return nil, sqlerr.New(8144, fn.Schema+"."+fn.Name)
		}
		return nil, sqlerr.New(313, fn.Schema+"."+fn.Name)
	}
	args := make([]*expr, len(params))
	for i, n := range params {
		if _, ok := n.(*ast.DefaultLiteral); ok {
			args[i] = nullOf(typeNull)
			continue
		}
		e, err := in.scalar(n)
		if err != nil {
			return nil, err
		}
		args[i] = sc.c.coerceArg(e, fn.ArgTypes, i)
	}
	t.cols = append([]Column(nil), fn.Columns...)
	for i, n := range names {
		if i < len(t.cols) {
			t.cols[i].Name = n
		}
	}
	slot, err := sc.add(t)
	return &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
		vs, err := evalAll(args, at(f))
		if err != nil {
			return err
		}
		return pull(fn.Rows(f.r.context(db), vs), yield)
	}}, err
}

// globalTableFunction compiles functions without a schema: STRING_SPLIT, GENERATE_SERIES and those of the registry.
func (sc *scope) globalTableFunction(x *ast.GlobalFunctionTableReference, lateral bool) (fromNode, error) {
	t := &tableSlot{alias: x.Name.Value, aliased: true}
	if x.Alias != nil {
		t.alias = x.Alias.Value
	}
	in, at := sc.funcScope(lateral)
	reads := sc.reads
	sc.reads = 0
	defer func() { sc.reads = reads }()
	f := sc.c.r.s.in.Registry.table("", x.Name.Value)
	if f == nil {
		switch strings.ToUpper(x.Name.Value) {
		case "STRING_SPLIT":
			f = stringSplit(sc.c)
		case "GENERATE_SERIES":
			f = generateSeries()
		default:
			return nil, sqlerr.New(208, x.Name.Value)
		}
	}
	node, err := sc.serverFunction(f, sc.c.db, t, in, at, x.Parameters, identifierNames(x.Columns))
	if leaf, ok := node.(*leafNode); ok && lateral {
		leaf.needs = sc.reads
	}
	return node, err
}

func stringSplit(c *compiler) *TableFunc {
	t := nvarcharType(4000, c.collation())
	return &TableFunc{
		Name: "STRING_SPLIT", Min: 2, Max: 3, ArgTypes: []value.Type{nvarcharType(value.Max, c.collation()), nvarcharType(1, c.collation()), typeInt},
		Columns: []Column{{Name: "value", Type: t, Nullable: true}, {Name: "ordinal", Type: typeBigInt}},
		Rows: func(_ *Context, a []value.Value) iter.Seq2[[]value.Value, error] {
			return func(yield func([]value.Value, error) bool) {
				if a[0].IsNull() || a[1].IsNull() {
					return
				}
				for i, s := range strings.Split(a[0].Str(), a[1].Str()) {
					if !yield([]value.Value{value.NewNVarChar(s), value.NewInt(value.BigInt, int64(i+1))}, nil) {
						return
					}
				}
			}
		},
	}
}

func generateSeries() *TableFunc {
	return &TableFunc{
		Name: "GENERATE_SERIES", Min: 2, Max: 3, ArgTypes: []value.Type{typeInt},
		Columns: []Column{{Name: "value", Type: typeInt, Nullable: true}},
		Rows: func(_ *Context, a []value.Value) iter.Seq2[[]value.Value, error] {
			return func(yield func([]value.Value, error) bool) {
				if a[0].IsNull() || a[1].IsNull() {
					return
				}
				from, to, step := a[0].Int(), a[1].Int(), int64(1)
				if from > to {
					step = -1
				}
				if len(a) > 2 && !a[2].IsNull() {
					step = a[2].Int()
				}
				if step == 0 {
					yield(nil, sqlerr.New(4199))
					return
				}
				for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
					if !yield([]value.Value{value.NewInt(value.Int, n)}, nil) {
						return
					}
				}
			}
		},
	}
}
