package exec

import (
	"encoding/json"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// jsonNode is a value in a JSON text; raw is its own piece of the text, kept as it stands.
type jsonNode struct {
	kind byte // one of o a s n b z: object, array, string, number, boolean, null
	raw  string
	str  string // of a string
	keys []string
	kids []*jsonNode
}

// parseJSON reads a JSON text: 13609 if it is none.
func parseJSON(text string) (*jsonNode, error) {
	p := &jsonParser{text: text, dec: json.NewDecoder(strings.NewReader(text))}
	p.dec.UseNumber()
	n, err := p.value()
	if err == nil && strings.TrimSpace(text[p.dec.InputOffset():]) != "" {
		err = errNotJSON
	}
	if err != nil {
		at := min(int(p.dec.InputOffset()), len(text))
		char := "."
		if rest := strings.TrimLeft(text[at:], " \t\r\n,:"); rest != "" {
			char, at = rest[:1], len(text)-len(rest)
		}
		return nil, sqlerr.New(13609, char, at)
	}
	return n, nil
}

type jsonParser struct {
	text string
	dec  *json.Decoder
}

var errNotJSON = sqlerr.New(13609, ".", 0)

func (p *jsonParser) value() (*jsonNode, error) {
	from := int(p.dec.InputOffset())
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	for from < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[from]) >= 0 {
		from++
	}
	n := &jsonNode{}
	switch t := tok.(type) {
	case json.Delim:
		if t == '}' || t == ']' {
			return nil, errNotJSON
		}
		n.kind = 'a'
		if t == '{' {
			n.kind = 'o'
		}
		if err := p.members(n); err != nil {
			return nil, err
		}
	case string:
		n.kind, n.str = 's', t
	case json.Number:
		n.kind = 'n'
	case bool:
		n.kind = 'b'
	default:
		n.kind = 'z'
	}
	n.raw = p.text[from:p.dec.InputOffset()]
	return n, nil
}

func (p *jsonParser) members(n *jsonNode) error {
	for p.dec.More() {
		if n.kind == 'o' {
			tok, err := p.dec.Token()
			if err != nil {
				return err
			}
			key, ok := tok.(string)
			if !ok {
				return errNotJSON
			}
			n.keys = append(n.keys, key)
		}
		kid, err := p.value()
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	_, err := p.dec.Token()
	return err
}

// member finds a property or an element, -1 if there is none.
func (n *jsonNode) member(s jsonStep) int {
	if n.kind == 'a' && s.index >= 0 {
		if s.index < len(n.kids) {
			return s.index
		}
		return -1
	}
	if n.kind == 'o' && s.index < 0 {
		for i, k := range n.keys {
			if k == s.key {
				return i
			}
		}
	}
	return -1
}

// text is a scalar as text; ok is false for NULL, objects and arrays.
func (n *jsonNode) text() (s string, ok bool) {
	switch n.kind {
	case 's':
		return n.str, true
	case 'n', 'b':
		return n.raw, true
	}
	return "", false
}

// render writes the node out again, with changed members in it.
func (n *jsonNode) render(b *strings.Builder) {
	if n.raw != "" {
		b.WriteString(n.raw)
		return
	}
	open, end := "[", "]"
	if n.kind == 'o' {
		open, end = "{", "}"
	}
	b.WriteString(open)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == 'o' {
			b.WriteString(jsonString(n.keys[i]))
			b.WriteByte(':')
		}
		kid.render(b)
	}
	b.WriteString(end)
}

// jsonStep is one step of a path: a key, or an index from 0 (-1 for a key).
type jsonStep struct {
	key   string
	index int
}

// jsonPath is a path with its mode.
type jsonPath struct {
	strict, appends bool
	steps           []jsonStep
}

// parseJSONPath reads [append] [lax | strict] $.a."b c"[0]: 13607 if it is not one.
func parseJSONPath(text string) (jsonPath, error) {
	var p jsonPath
	rest := strings.TrimSpace(text)
	if r, ok := strings.CutPrefix(rest, "append "); ok {
		p.appends, rest = true, strings.TrimSpace(r)
	}
	if r, ok := strings.CutPrefix(rest, "strict "); ok {
		p.strict, rest = true, strings.TrimSpace(r)
	} else if r, ok := strings.CutPrefix(rest, "lax "); ok {
		rest = strings.TrimSpace(r)
	}
	bad := func() (jsonPath, error) {
		char := "."
		if rest != "" {
			char = rest[:1]
		}
		return p, sqlerr.New(13607, char, len(text)-len(rest))
	}
	if !strings.HasPrefix(rest, "$") {
		return bad()
	}
	for rest = rest[1:]; rest != ""; {
		switch {
		case strings.HasPrefix(rest, `."`):
			end := strings.IndexByte(rest[2:], '"')
			if end < 0 {
				return bad()
			}
			p.steps = append(p.steps, jsonStep{rest[2 : 2+end], -1})
			rest = rest[3+end:]
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return bad()
			}
			p.steps = append(p.steps, jsonStep{rest[1 : 1+end], -1})
			rest = rest[1+end:]
		case rest[0] == '[':
			n, at := 0, 1
			for ; at < len(rest) && rest[at] >= '0' && rest[at] <= '9' && at < 9; at++ {
				n = n*10 + int(rest[at]-'0')
			}
			if at == 1 || at >= len(rest) || rest[at] != ']' {
				return bad()
			}
			p.steps = append(p.steps, jsonStep{"", n})
			rest = rest[at+1:]
		default:
			return bad()
		}
	}
	return p, nil
}

// find follows the path; nil if it leads nowhere, which is 13608 in the strict mode.
func (p jsonPath) find(n *jsonNode) (*jsonNode, error) {
	for _, s := range p.steps {
		i := n.member(s)
		if i < 0 {
			if p.strict {
				return nil, sqlerr.New(13608)
			}
			return nil, nil
		}
		n = n.kids[i]
	}
	return n, nil
}

// set puts a value at the end of the path, nil to take away what is there. In the lax mode only the last step may be missing.
func (p jsonPath) set(root, val *jsonNode) error {
	n := root
	for i, s := range p.steps {
		n.raw = ""
		at, last := n.member(s), i == len(p.steps)-1
		switch {
		case at < 0 && p.strict:
			return sqlerr.New(13608)
		case at < 0 && (!last || val == nil):
			return nil
		case at < 0 && n.kind == 'o' && s.index < 0:
			if p.appends {
				val = &jsonNode{kind: 'a', kids: []*jsonNode{val}}
			}
			n.keys, n.kids = append(n.keys, s.key), append(n.kids, val)
			return nil
		case at < 0:
			return nil
		case last && p.appends:
			if kid := n.kids[at]; kid.kind == 'a' {
				kid.raw, kid.kids = "", append(kid.kids, val)
			}
			return nil
		case last && val == nil && !p.strict:
			if n.kind == 'o' {
				n.keys = append(n.keys[:at:at], n.keys[at+1:]...)
				n.kids = append(n.kids[:at:at], n.kids[at+1:]...)
			} else {
				n.kids[at] = &jsonNode{kind: 'z', raw: "null"}
			}
			return nil
		case last && val == nil:
			n.kids[at] = &jsonNode{kind: 'z', raw: "null"}
			return nil
		case last:
			n.kids[at] = val
			return nil
		}
		n = n.kids[at]
	}
	return nil
}

// jsonString quotes a text as the server does: it escapes the slash too.
func jsonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\', '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < 0x20 {
				const hex = "0123456789abcdef"
				b.WriteString(`\u00`)
				b.WriteByte(hex[r>>4])
				b.WriteByte(hex[r&15])
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
