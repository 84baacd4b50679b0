package exec

import (
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// openJSON compiles OPENJSON(text [, path]) [WITH (columns)] in FROM.
func (sc *scope) openJSON(x *ast.OpenJsonTableReference, lateral bool) (fromNode, error) {
	t := &tableSlot{alias: "OPENJSON", aliased: true}
	if x.Alias != nil {
		t.alias = x.Alias.Value
	}
	in, at := sc.funcScope(lateral)
	reads := sc.reads
	sc.reads = 0
	defer func() { sc.reads = reads }()
	text := nvarcharType(value.Max, sc.c.collation())
	args := []*expr{nil, constant(value.NewNVarChar("$"), text)}
	for i, n := range []ast.ScalarExpression{x.Variable, x.RowPattern} {
		if n == nil {
			continue
		}
		e, err := in.scalar(n)
		if err != nil {
			return nil, err
		}
		args[i] = sc.c.coerce(e, text)
	}
	cols, err := sc.c.jsonColumns(x.SchemaDeclarationItems)
	if err != nil {
		return nil, err
	}
	for _, c := range cols {
		t.cols = append(t.cols, Column{Name: c.name, Type: c.typ, Nullable: true})
	}
	if cols == nil {
		t.cols = []Column{{Name: "key", Type: nvarcharType(4000, sc.c.collation())}, {Name: "value", Type: text, Nullable: true}, {Name: "type", Type: typeTinyInt}}
	}
	needs := sc.reads
	slot, err := sc.add(t)
	leaf := &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
		vs, err := evalAll(args, at(f))
		if err != nil || vs[0].IsNull() || vs[1].IsNull() {
			return err
		}
		n, err := parseJSON(vs[0].Str())
		if err != nil {
			return err
		}
		p, err := parseJSONPath(vs[1].Str())
		if err != nil {
			return err
		}
		if n, err = p.find(n); err != nil || n == nil {
			return err
		}
		if cols == nil {
			return n.pairs(yield)
		}
		return n.records(f.r, cols, yield)
	}}
	if lateral {
		leaf.needs = needs
	}
	return leaf, err
}

// jsonColumn is a column of OPENJSON … WITH.
type jsonColumn struct {
	name string
	typ  value.Type
	path jsonPath
	json bool // AS JSON
}

func (c *compiler) jsonColumns(items []*ast.SchemaDeclarationItemOpenjson) ([]jsonColumn, error) {
	var out []jsonColumn
	for _, it := range items {
		col := jsonColumn{name: it.ColumnDefinition.ColumnIdentifier.Value, json: it.AsJson}
		var err error
		if col.typ, err = c.typeOf(it.ColumnDefinition.DataType, false); err != nil {
			return nil, err
		}
		if isString(col.typ) {
			col.typ.Coll = c.collation()
		}
		col.path = jsonPath{steps: []jsonStep{{col.name, -1}}}
		if m, ok := it.Mapping.(*ast.StringLiteral); ok {
			if col.path, err = parseJSONPath(m.Value); err != nil {
				return nil, err
			}
		}
		out = append(out, col)
	}
	return out, nil
}

// jsonTypes are the numbers of the column type of OPENJSON.
var jsonTypes = map[byte]int64{'z': 0, 's': 1, 'n': 2, 'b': 3, 'a': 4, 'o': 5}

// pairs yields key, value and type of each member.
func (n *jsonNode) pairs(yield func([]rowValue) error) error {
	for i, kid := range n.kids {
		key := strconv.Itoa(i)
		if n.kind == 'o' {
			key = n.keys[i]
		}
		v := value.Value{}
		if s, ok := kid.text(); ok {
			v = value.NewNVarChar(s)
		} else if kid.kind != 'z' {
			v = value.NewNVarChar(kid.raw)
		}
		if err := yield([]rowValue{value.NewNVarChar(key), v, value.NewInt(value.TinyInt, jsonTypes[kid.kind])}); err != nil {
			return err
		}
	}
	return nil
}

// records yields a row for each element of an array, or one for an object.
func (n *jsonNode) records(r *run, cols []jsonColumn, yield func([]rowValue) error) error {
	list := []*jsonNode{n}
	if n.kind == 'a' {
		list = n.kids
	}
	text := nvarcharType(value.Max, nil)
	for _, el := range list {
		row := make([]rowValue, len(cols))
		for i, c := range cols {
			kid, err := c.path.find(el)
			if err != nil {
				return err
			}
			if kid == nil {
				continue
			}
			s, ok := kid.text()
			if c.json {
				if s, ok = kid.raw, kid.kind == 'o' || kid.kind == 'a'; !ok && c.path.strict {
					return sqlerr.New(13624)
				}
			}
			if !ok {
				continue
			}
			if c.typ.ID == value.Bit {
				s = map[string]string{"true": "1", "false": "0"}[s] + map[bool]string{true: s}[s != "true" && s != "false"]
			}
			if row[i], err = value.Assign(&r.s.env, value.NewNVarChar(s), text, c.typ); err != nil {
				return err
			}
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}
