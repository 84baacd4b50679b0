package exec

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// chunkUnits is how many characters of FOR JSON and FOR XML a server puts into one row of a result set.
const chunkUnits = 2033

// forClause turns the rows of a query into one text: FOR JSON and FOR XML.
func (p *levelPlan) forClause(q *query, kind queryKind) (*query, error) {
	var text func(r *run, rows [][]value.Value) (string, error)
	var col Column
	switch x := p.ast.ForClause.(type) {
	case *ast.JsonForClause:
		j, err := p.forJSON(x)
		if err != nil {
			return nil, err
		}
		col, text = Column{Name: "JSON_F52E2B61-18A1-11d1-B105-00805F49916B", json: j.wrap}, j.text
	case *ast.XmlForClause:
		m, err := p.forXML(x)
		if err != nil {
			return nil, err
		}
		col, text = Column{Name: "XML_F52E2B61-18A1-11d1-B105-00805F49916B"}, m.text
		if m.typed {
			col.Type = value.Type{ID: value.XML, Len: value.Max}
		}
	case *ast.BrowseForClause:
		return q, nil
	default:
		return nil, notSupported("this FOR clause")
	}
	if col.Type.ID != value.XML {
		col.Type = nvarcharType(value.Max, p.sc.c.collation())
	}
	col.Nullable = true
	rowsOf := q.run
	out := &query{cols: []Column{col}}
	out.run = func(r *run, outer *frame, emit func([]rowValue) error) error {
		var rows [][]value.Value
		err := rowsOf(r, outer, func(row []rowValue) error {
			rows = append(rows, slices.Clone(row))
			return r.ctx.Err()
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		s, err := text(r, rows)
		if err != nil {
			return err
		}
		if col.Type.ID == value.XML {
			return emit([]rowValue{value.NewString(value.XML, s)})
		}
		for kind == topQuery && utf16Units(s) > chunkUnits {
			at, units := 0, 0
			for i, c := range s {
				if units >= chunkUnits {
					break
				}
				at = i + len(string(c))
				units += utf16Units(string(c))
			}
			if err := emit([]rowValue{value.NewNVarChar(s[:at])}); err != nil {
				return err
			}
			s = s[at:]
		}
		return emit([]rowValue{value.NewNVarChar(s)})
	}
	return out, nil
}

// forJSON is a compiled FOR JSON clause.
type forJSON struct {
	p     *levelPlan
	paths [][]string // of each column
	nulls bool
	wrap  bool // in an array
	root  string
	inner bool // with a root
}

func (p *levelPlan) forJSON(x *ast.JsonForClause) (*forJSON, error) {
	j := &forJSON{p: p, wrap: true}
	auto := false
	for _, o := range x.Options {
		switch o.OptionKind {
		case "Auto":
			auto = true
		case "Root":
			j.inner, j.root = true, "root"
			if o.Value != nil {
				j.root = o.Value.Value
			}
		case "IncludeNullValues":
			j.nulls = true
		case "WithoutArrayWrapper":
			j.wrap = false
		}
	}
	if auto && len(p.sc.tables) > 1 {
		return nil, notSupported("FOR JSON AUTO of several tables")
	}
	for _, c := range p.cols {
		if c.Name == "" {
			return nil, sqlerr.New(13605)
		}
		if auto {
			j.paths = append(j.paths, []string{c.Name})
		} else {
			j.paths = append(j.paths, strings.Split(c.Name, "."))
		}
	}
	return j, nil
}

func (j *forJSON) text(r *run, rows [][]value.Value) (string, error) {
	var b strings.Builder
	if j.inner {
		b.WriteString("{" + jsonString(j.root) + ":")
	}
	if j.wrap {
		b.WriteByte('[')
	}
	for i, row := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := j.row(r, &b, row); err != nil {
			return "", err
		}
	}
	if j.wrap {
		b.WriteByte(']')
	}
	if j.inner {
		b.WriteByte('}')
	}
	return b.String(), nil
}

// row writes one object; neighbours with the same prefix share an inner object.
func (j *forJSON) row(r *run, b *strings.Builder, row []value.Value) error {
	var open []string
	first := true
	sep := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	b.WriteByte('{')
	for i, v := range row {
		if v.IsNull() && !j.nulls {
			continue
		}
		path := j.paths[i]
		same := 0
		for same < len(open) && same < len(path)-1 && open[same] == path[same] {
			same++
		}
		for ; len(open) > same; open = open[:len(open)-1] {
			b.WriteByte('}')
			first = false
		}
		for _, name := range path[same : len(path)-1] {
			sep()
			b.WriteString(jsonString(name) + ":{")
			open, first = append(open, name), true
		}
		sep()
		b.WriteString(jsonString(path[len(path)-1]) + ":")
		s := "null"
		if !v.IsNull() {
			var err error
			if s, err = jsonOf(r, v, j.p.outs[i]); err != nil {
				return err
			}
		}
		b.WriteString(s)
	}
	b.WriteString(strings.Repeat("}", len(open)+1))
	return nil
}
