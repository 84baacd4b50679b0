package exec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// fingerprint is a text that two expressions have in common when they mean the same: columns are replaced by their place
// in the scope, positions in the source are left out.
func fingerprint(sc *scope, n ast.ScalarExpression) string {
	var b strings.Builder
	printNode(&b, sc, reflect.ValueOf(n))
	return b.String()
}

func printNode(b *strings.Builder, sc *scope, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteByte('-')
			return
		}
		switch x := v.Interface().(type) {
		case *ast.ParenthesisExpression:
			printNode(b, sc, reflect.ValueOf(x.Expression))
			return
		case *ast.ColumnReferenceExpression:
			if x.MultiPartIdentifier != nil && len(x.MultiPartIdentifier.Identifiers) > 0 {
				if d, t, c, err := sc.resolve(x.MultiPartIdentifier.Identifiers); err == nil {
					fmt.Fprintf(b, "col(%d,%d,%d)", d, t, c)
					return
				}
			}
		case *ast.Identifier:
			b.WriteString(strings.ToLower(x.Value))
			return
		}
		printNode(b, sc, v.Elem())
	case reflect.Struct:
		t := v.Type()
		b.WriteString(t.Name())
		b.WriteByte('{')
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Name != "Fragment" {
				printNode(b, sc, v.Field(i))
				b.WriteByte(',')
			}
		}
		b.WriteByte('}')
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			printNode(b, sc, v.Index(i))
			b.WriteByte(',')
		}
		b.WriteByte(']')
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}
