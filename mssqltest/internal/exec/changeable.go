package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// changeable compiles a common table expression or a view as the target of UPDATE and DELETE: its rows must be those of
// its first table. It gives the node, that table, and the base column of each of its columns; a nil node means that the
// target is something else.
func (sc *scope) changeable(ref ast.TableReference) (fromNode, *boundTable, map[string]int, error) {
	x, ok := ref.(*ast.NamedTableReference)
	if !ok || x.SchemaObject == nil || x.SchemaObject.BaseIdentifier == nil {
		return nil, nil, nil, nil
	}
	name := x.SchemaObject.BaseIdentifier.Value
	t := &tableSlot{alias: name, aliased: true}
	if x.SchemaObject.SchemaIdentifier == nil {
		if s := sc.c.ctes.find(name); s != nil {
			c := *s.c
			c.r, c.db = sc.c.r, sc.c.db
			return sc.changeableQuery(&c, s.def.QueryExpression, t, identifierNames(s.def.Columns))
		}
	}
	o, err := sc.c.nameOf(x.SchemaObject)
	if err != nil {
		return nil, nil, nil, err
	}
	m, _ := sc.c.r.object(o.db, o.schema, o.name).(*storage.Module)
	if m == nil {
		return nil, nil, nil, nil
	}
	v, ok := m.Parsed.(*view)
	if !ok || v.query.WithCtesAndXmlNamespaces != nil {
		return nil, nil, nil, nil
	}
	return sc.changeableQuery(sc.c.at(o.db), v.query.QueryExpression, t, v.columns)
}

func (sc *scope) changeableQuery(c *compiler, n ast.QueryExpression, t *tableSlot, names []string) (fromNode, *boundTable, map[string]int, error) {
	q, ok := n.(*ast.QuerySpecification)
	if !ok || q.FromClause == nil {
		return nil, nil, nil, sqlerr.New(4406, t.alias)
	}
	p, err := c.level(q, nil, subQuery)
	if err != nil {
		return nil, nil, nil, err
	}
	base := p.sc.tables[0].source
	if base == nil || p.group != nil || p.distinct || len(p.outs) == 0 {
		return nil, nil, nil, sqlerr.New(4406, t.alias)
	}
	base.track()
	base.access.ForUpdate = true
	p.base = base
	node, err := sc.queryTable(&query{cols: p.cols, run: p.run}, t, names, func(*frame) *frame { return nil })
	if err != nil {
		return nil, nil, nil, err
	}
	cols := map[string]int{}
	for i, e := range p.outs {
		if e.col != nil && e.col.table == 0 {
			cols[sc.c.fold(t.cols[i].Name)] = e.col.col
		}
	}
	return node, base, cols, nil
}

// through finds the base column behind a column of a view.
func (c *compiler) through(cols map[string]int, name string) (int, error) {
	if i, ok := cols[c.fold(name)]; ok {
		return i, nil
	}
	return 0, sqlerr.New(4406, name)
}
