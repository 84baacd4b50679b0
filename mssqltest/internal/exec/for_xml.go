package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// forXML is a compiled FOR XML clause.
type forXML struct {
	p        *levelPlan
	element  string // of a row; "" for none
	elements bool   // columns are elements
	path     bool   // the names of columns are paths
	typed    bool   // TYPE
	xsiNil   bool   // NULL is an element with xsi:nil
	root     string
}

func (p *levelPlan) forXML(x *ast.XmlForClause) (*forXML, error) {
	m := &forXML{p: p, element: "row"}
	for _, o := range x.Options {
		given := func(def string) string {
			if o.Value != nil {
				return o.Value.Value
			}
			return def
		}
		switch kind := o.OptionKind; {
		case kind == "Path":
			m.path, m.elements, m.element = true, true, given("row")
		case kind == "Raw":
			m.element = given("row")
		case kind == "Auto":
			if len(p.sc.tables) != 1 {
				return nil, notSupported("FOR XML AUTO of several tables")
			}
			m.element = p.sc.tables[0].alias
		case kind == "Elements", kind == "ElementsAbsent":
			m.elements = true
		case kind == "ElementsXsiNil":
			m.elements, m.xsiNil = true, true
		case kind == "Root":
			m.root = given("root")
		case strings.EqualFold(strings.Trim(kind, "[]"), "Type"):
			m.typed = true
		default:
			return nil, notSupported("FOR XML " + kind)
		}
	}
	if !m.path {
		for _, c := range p.cols {
			if c.Name == "" {
				return nil, sqlerr.New(6809)
			}
		}
	}
	return m, nil
}

// xmlNode is an element, or with an empty name a piece of content that is written as it is.
type xmlNode struct {
	name, attrs, content string
	kids                 []*xmlNode
}

func (n *xmlNode) write(b *strings.Builder) {
	if n.name == "" {
		b.WriteString(n.content)
		for _, k := range n.kids {
			k.write(b)
		}
		return
	}
	b.WriteString("<" + n.name + n.attrs)
	if len(n.kids) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteByte('>')
	for _, k := range n.kids {
		k.write(b)
	}
	b.WriteString("</" + n.name + ">")
}

func (m *forXML) text(r *run, rows [][]value.Value) (string, error) {
	var b strings.Builder
	if m.root != "" {
		b.WriteString("<" + m.root + m.namespace() + ">")
	}
	for _, row := range rows {
		n := &xmlNode{name: m.element}
		if m.root == "" {
			n.attrs = m.namespace()
		}
		if err := m.row(r, n, row); err != nil {
			return "", err
		}
		n.write(&b)
	}
	if m.root != "" {
		b.WriteString("</" + m.root + ">")
	}
	return b.String(), nil
}

func (m *forXML) namespace() string {
	if m.xsiNil {
		return ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	}
	return ""
}

func (m *forXML) row(r *run, n *xmlNode, row []value.Value) error {
	for i, v := range row {
		name := m.p.cols[i].Name
		if v.IsNull() && (!m.xsiNil || strings.Contains(name, "@")) {
			continue
		}
		text := ""
		if !v.IsNull() {
			t := m.p.outs[i].typ
			if t.ID == value.Bit {
				text = map[bool]string{true: "1", false: "0"}[v.Int() != 0]
			} else {
				var err error
				if text, err = r.plainText(v, t); err != nil {
					return err
				}
			}
			if t.ID != value.XML {
				text = xmlEscape(text, !m.elements || strings.Contains(name, "@"))
			}
		}
		switch {
		case !m.elements:
			n.attrs += " " + xmlName(name) + `="` + text + `"`
		case !m.path:
			n.kids = append(n.kids, m.leaf(name, text, v.IsNull()))
		default:
			m.place(n, name, text, v.IsNull())
		}
	}
	return nil
}

func (m *forXML) leaf(name, text string, null bool) *xmlNode {
	k := &xmlNode{name: xmlName(name)}
	if null {
		k.attrs = ` xsi:nil="true"`
	} else if text != "" {
		k.kids = []*xmlNode{{content: text}}
	}
	return k
}

// place puts a value where the name of its column says; neighbours with the same first steps share their elements.
func (m *forXML) place(n *xmlNode, name, text string, null bool) {
	steps := strings.Split(name, "/")
	for _, s := range steps[:len(steps)-1] {
		if k := len(n.kids); k > 0 && n.kids[k-1].name == s {
			n = n.kids[k-1]
			continue
		}
		kid := &xmlNode{name: s}
		n.kids = append(n.kids, kid)
		n = kid
	}
	switch last := steps[len(steps)-1]; {
	case last == "" || last == "*" || last == "text()" || last == "node()":
		n.kids = append(n.kids, &xmlNode{content: text})
	case last == "data()":
		if len(n.kids) > 0 {
			text = " " + text
		}
		n.kids = append(n.kids, &xmlNode{content: text})
	case last[0] == '@':
		n.attrs += " " + xmlName(last[1:]) + `="` + text + `"`
	default:
		n.kids = append(n.kids, m.leaf(last, text, null))
	}
}

func xmlEscape(s string, attr bool) string {
	pairs := []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;"}
	if attr {
		pairs = append(pairs, `"`, "&quot;", "\n", "&#x0A;", "\t", "&#x09;")
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// xmlName encodes the characters that no name in XML has.
func xmlName(s string) string {
	var b strings.Builder
	for i, r := range s {
		ok := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7F || i > 0 && (r == '-' || r == '.' || r >= '0' && r <= '9') || r == ':'
		if ok {
			b.WriteRune(r)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.WriteString("_x")
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[r>>shift&15])
		}
		b.WriteByte('_')
	}
	return b.String()
}
