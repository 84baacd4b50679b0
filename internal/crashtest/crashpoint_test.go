//go:build unix

package crashtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"example.com/mssqlcdc/internal/crashpoint"
)

// The tests of internal/crashpoint stand here, because that package imports nothing, not even in tests.

func TestHitIsHeard(t *testing.T) {
	crashpoint.Hit(crashpoint.PageRead) // nobody listens, as in production
	var heard []crashpoint.Point
	crashpoint.Listen(func(p crashpoint.Point) { heard = append(heard, p) })
	defer crashpoint.Listen(nil)
	crashpoint.Hit(crashpoint.PageRead)
	crashpoint.Hit(crashpoint.Saved)
	if !slices.Equal(heard, []crashpoint.Point{crashpoint.PageRead, crashpoint.Saved}) {
		t.Fatalf("heard %v", heard)
	}
}

// All and Output are what the crash tests go by: a point that they leave out is never died at.
func TestEveryPointIsListedOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../crashpoint/crashpoint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []crashpoint.Point
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, crashpoint.Point(text))
			}
		}
	}
	listed := append(crashpoint.All(), crashpoint.Output()...)
	slices.Sort(declared)
	slices.Sort(listed)
	if len(declared) == 0 || !slices.Equal(listed, declared) {
		t.Fatalf("listed are %q, declared are %q", listed, declared)
	}
}
