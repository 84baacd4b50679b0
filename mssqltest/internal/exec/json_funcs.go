package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// jsonArgs are how many arguments the JSON functions take.
var jsonArgs = map[string][2]int{"ISJSON": {1, 2}, "JSON_VALUE": {2, 2}, "JSON_QUERY": {1, 2}, "JSON_MODIFY": {3, 3}}

// jsonCall compiles ISJSON, JSON_VALUE, JSON_QUERY and JSON_MODIFY.
func (sc *scope) jsonCall(name string, params []ast.ScalarExpression) (*expr, error) {
	if n := jsonArgs[name]; len(params) < n[0] || len(params) > n[1] {
		return nil, sqlerr.New(174, strings.ToLower(name), n[0])
	}
	es, err := sc.scalars(params)
	if err != nil {
		return nil, err
	}
	text := nvarcharType(value.Max, sc.c.collation())
	doc := sc.c.coerce(es[0], text)
	path := constant(value.NewNVarChar("$"), text)
	if len(es) > 1 && name != "ISJSON" {
		path = sc.c.coerce(es[1], text)
	}
	out := &expr{typ: text, nullable: true, json: name == "JSON_QUERY" || name == "JSON_MODIFY", coll: collImplicit}
	var fn func(f *frame, doc string, p jsonPath) (value.Value, error)
	switch name {
	case "ISJSON":
		return &expr{typ: typeInt, nullable: true, eval: func(f *frame) (value.Value, error) {
			v, err := doc.eval(f)
			if err != nil || v.IsNull() {
				return value.Value{}, err
			}
			n, err := parseJSON(v.Str())
			ok := int64(0)
			if err == nil && (n.kind == 'o' || n.kind == 'a') {
				ok = 1
			}
			return value.NewInt(value.Int, ok), nil
		}}, nil
	case "JSON_VALUE":
		out.typ = nvarcharType(4000, sc.c.collation())
		fn = jsonValue
	case "JSON_QUERY":
		fn = jsonQuery
	case "JSON_MODIFY":
		val := es[2]
		fn = func(f *frame, doc string, p jsonPath) (value.Value, error) {
			n, err := parseJSON(doc)
			if err != nil {
				return value.Value{}, err
			}
			v, err := val.eval(f)
			if err != nil {
				return v, err
			}
			var node *jsonNode
			if !v.IsNull() {
				raw, err := jsonOf(f.r, v, val)
				if err != nil {
					return v, err
				}
				node = &jsonNode{raw: raw}
			}
			if err := p.set(n, node); err != nil {
				return v, err
			}
			var b strings.Builder
			n.render(&b)
			return value.NewNVarChar(b.String()), nil
		}
	}
	out.eval = func(f *frame) (value.Value, error) {
		d, err := doc.eval(f)
		if err != nil || d.IsNull() {
			return value.Value{}, err
		}
		at, err := path.eval(f)
		if err != nil || at.IsNull() {
			return value.Value{}, err
		}
		p, err := parseJSONPath(at.Str())
		if err != nil {
			return value.Value{}, err
		}
		return fn(f, d.Str(), p)
	}
	return out, nil
}

// jsonValue is JSON_VALUE: a scalar of at most 4000 characters; what is longer, an object or an array is NULL, or an error
// in the strict mode.
func jsonValue(_ *frame, doc string, p jsonPath) (value.Value, error) {
	n, err := parseJSON(doc)
	if err != nil {
		return value.Value{}, err
	}
	if n, err = p.find(n); err != nil || n == nil {
		return value.Value{}, err
	}
	s, ok := n.text()
	switch {
	case !ok && p.strict && n.kind != 'z':
		return value.Value{}, sqlerr.New(13623)
	case !ok || utf16Units(s) > 4000:
		return value.Value{}, nil
	}
	return value.NewNVarChar(s), nil
}

// jsonQuery is JSON_QUERY: an object or an array as it stands.
func jsonQuery(_ *frame, doc string, p jsonPath) (value.Value, error) {
	n, err := parseJSON(doc)
	if err != nil {
		return value.Value{}, err
	}
	if n, err = p.find(n); err != nil || n == nil {
		return value.Value{}, err
	}
	if n.kind != 'o' && n.kind != 'a' {
		if p.strict {
			return value.Value{}, sqlerr.New(13624)
		}
		return value.Value{}, nil
	}
	return value.NewNVarChar(n.raw), nil
}

// jsonOf is a value of SQL as JSON: what is JSON already stays, numbers and bits are bare, the rest is quoted.
func jsonOf(r *run, v value.Value, e *expr) (string, error) {
	if e.json {
		return v.Str(), nil
	}
	t := e.typ
	if t.ID == value.Bit {
		return map[bool]string{true: "true", false: "false"}[v.Int() != 0], nil
	}
	s, err := r.plainText(v, t)
	if err != nil {
		return "", err
	}
	if isExact(t) || t.ID == value.Float || t.ID == value.Real {
		return s, nil
	}
	return jsonString(s), nil
}

// plainText is a value as FOR XML and FOR JSON write it: dates in ISO 8601, floats with all digits, bytes in base64.
func (r *run) plainText(v value.Value, t value.Type) (string, error) {
	if isBinary(t) || t.ID == value.RowVersion || t.ID == value.Image {
		return base64Text(v.Bytes()), nil
	}
	style := 0
	switch t.ID {
	case value.Date, value.Time, value.DateTime, value.SmallDateTime, value.DateTime2, value.DateTimeOffset:
		style = 126
	case value.Float, value.Real:
		style = 2
	}
	out, err := value.Convert(&r.s.env, v, t, nvarcharType(value.Max, nil), style)
	return out.Str(), err
}
