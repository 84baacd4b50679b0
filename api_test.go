package mssqlcdc

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exportedPackages are the packages that others may import, beside the root, which exports nothing.
var exportedPackages = []string{"changetable", "checkpoint", "mssqltest", "snapshot"}

// maxStandInNames bounds what mssqltest exports: a stand-in that is easy to learn.
const maxStandInNames = 15

// TestExportedAPI compares the exported signatures with those that are kept in testdata, so that a change of them is a
// decision and not an accident.
func TestExportedAPI(t *testing.T) {
	for _, dir := range exportedPackages {
		t.Run(dir, func(t *testing.T) {
			api := exported(t, dir)
			for _, p := range api.foreign {
				t.Errorf("%s exports a signature with %s; only the standard library, arrow-go and checkpoint may be in one", dir, p)
			}
			if dir == standIn && len(api.names) > maxStandInNames {
				t.Errorf("%s exports %d names, more than %d: %s", dir, len(api.names), maxStandInNames, strings.Join(api.names, ", "))
			}
			checkGolden(t, "testdata/api-"+dir+".txt", api.text)
		})
	}
}

func TestRootExportsNothing(t *testing.T) {
	if api := exported(t, "."); len(api.names) > 0 {
		t.Errorf("the root package is a plugin, and exports %s", strings.Join(api.names, ", "))
	}
}

// packageAPI is what a package exports.
type packageAPI struct {
	names   []string // without methods
	text    []byte   // the declarations without comments, sorted
	foreign []string // imports that appear in them and may not
}

func exported(t *testing.T, dir string) packageAPI {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var api packageAPI
	var decls []string
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_windows.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution) // without comments
		if err != nil {
			t.Fatal(err)
		}
		imports := importNames(t, f)
		ast.FileExports(f)
		for _, d := range f.Decls {
			names := declared(d)
			if len(names) == 0 {
				continue
			}
			if fn, ok := d.(*ast.FuncDecl); !ok || fn.Recv == nil {
				api.names = append(api.names, names...)
			}
			var b bytes.Buffer
			if err := (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, set, d); err != nil {
				t.Fatal(err)
			}
			decls = append(decls, oneForm(b.String()))
			api.foreign = append(api.foreign, foreignImports(d, imports)...)
		}
	}
	slices.Sort(api.names)
	slices.Sort(decls)
	slices.Sort(api.foreign)
	api.foreign = slices.Compact(api.foreign)
	api.text = fmt.Appendf(nil, "Exported by %s, without comments; rewritten by go test . -run TestExportedAPI -update\n\n%s\n",
		path.Join(module, dir), strings.Join(decls, "\n"))
	return api
}

// declared gives the exported names of a declaration that FileExports has filtered, and drops what is not part of its
// signature.
func declared(d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
		if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				if d.Tok == token.VAR {
					s.Values = nil
					if s.Type == nil {
						s.Type = ast.NewIdent("…") // printed as it is: the type is that of a value
					}
				}
				for _, n := range s.Names {
					if n.IsExported() {
						out = append(out, n.Name)
					}
				}
			}
		}
	}
	return out
}

func exportedReceiver(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return exportedReceiver(t.X)
	case *ast.IndexExpr:
		return exportedReceiver(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}

// oneForm takes out what depends on comments: blank lines, and how columns are aligned.
func oneForm(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		if words := strings.Fields(body); len(words) > 0 {
			out = append(out, strings.Repeat(" ", len(line)-len(body))+strings.Join(words, " "))
		}
	}
	return strings.Join(out, "\n")
}

// importNames maps the names by which a file knows its imports to their paths.
func importNames(t *testing.T, f *ast.File) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = p
	}
	return out
}

// foreignImports lists the packages of a declaration's types that are neither of the standard library, nor arrow-go, nor
// checkpoint.
func foreignImports(d ast.Decl, imports map[string]string) (out []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		p, ok := imports[pkg.Name]
		first, _, _ := strings.Cut(p, "/")
		if ok && strings.Contains(first, ".") && !under(p, arrowPath, module+"/checkpoint") {
			out = append(out, p)
		}
		return true
	})
	return out
}

// TestForeignImports shows that a foreign type in a signature is found.
func TestForeignImports(t *testing.T) {
	const text = `package p
import ("net"; "example.com/mssqlcdc/checkpoint"; "example.com/mssqlcdc/internal/catalog")
func Bad(net.Conn, checkpoint.LSN) *catalog.Name { return nil }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := foreignImports(f.Decls[1], importNames(t, f))
	if len(got) != 1 || got[0] != module+"/internal/catalog" {
		t.Errorf("foreign imports: %q", got)
	}
}
