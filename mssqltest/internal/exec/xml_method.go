package exec

import (
	"encoding/xml"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// wholeText are the paths of value() that mean all text below a node.
var wholeText = map[string]bool{".": true, "text()[1]": true, "./text()[1]": true, "(./text())[1]": true, "(text())[1]": true, "(.)[1]": true}

// xmlValue compiles the one method of xml that joined texts need: (SELECT … FOR XML PATH(”), TYPE).value('.', 'nvarchar(max)').
func (sc *scope) xmlValue(x *ast.FunctionCall, target ast.ScalarExpression) (*expr, error) {
	e, err := sc.scalar(target)
	if err != nil {
		return nil, err
	}
	if e.typ.ID != value.XML || !strings.EqualFold(x.FunctionName.Value, "value") || len(x.Parameters) != 2 {
		return nil, notSupported("methods of values")
	}
	path, ok := x.Parameters[0].(*ast.StringLiteral)
	kind, ok2 := x.Parameters[1].(*ast.StringLiteral)
	if !ok || !ok2 || !wholeText[strings.ReplaceAll(path.Value, " ", "")] {
		return nil, notSupported("XQuery")
	}
	decls, err := sc.c.r.s.parseDecls("@v " + kind.Value)
	if err != nil {
		return nil, err
	}
	to := decls[0].Type
	text := nvarcharType(value.Max, sc.c.collation())
	return &expr{typ: to, nullable: true, coll: collImplicit, eval: func(f *frame) (value.Value, error) {
		v, err := e.eval(f)
		if err != nil || v.IsNull() {
			return value.Value{}, err
		}
		return value.Convert(&f.r.s.env, value.NewNVarChar(xmlText(v.Str())), text, to, 0)
	}}, nil
}

// xmlText joins the text of a piece of XML.
func xmlText(s string) string {
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader("<x>" + s + "</x>"))
	for {
		tok, err := d.RawToken()
		if err != nil {
			return b.String()
		}
		if c, ok := tok.(xml.CharData); ok {
			b.Write(c)
		}
	}
}
