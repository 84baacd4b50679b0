package mssqlcdc

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module      = "example.com/mssqlcdc"
	benthosPath = "github.com/redpanda-data/benthos"
	arrowPath   = "github.com/apache/arrow-go"
	franzPath   = "github.com/twmb/franz-go"
	azureadPath = "github.com/microsoft/go-mssqldb/azuread"
)

// goFile is what a rule looks at: where a file is, what it imports, and whether it prints.
type goFile struct {
	name    string // path below the module
	dir     string // its package below the module, "." for the root
	test    bool
	outside bool // a test of package …_test, which is a user of the package
	tag     bool // built only with a tag that somebody gives, such as azuread
	imports []string
	prints  []string // calls that write to stdout or stderr
}

// rule says what files must not do. It returns what is wrong, or "".
type rule struct {
	name  string
	check func(f goFile) string
}

func under(p string, parents ...string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool { return p == parent || strings.HasPrefix(p, parent+"/") })
}

// imported finds an import below one of the paths.
func (f goFile) imported(paths ...string) string {
	for _, i := range f.imports {
		if under(i, paths...) {
			return i
		}
	}
	return ""
}

// ours lists the imports of this module, by their path below it.
func (f goFile) ours() (out []string) {
	for _, i := range f.imports {
		if i == module {
			out = append(out, ".")
		} else if p, ok := strings.CutPrefix(i, module+"/"); ok {
			out = append(out, p)
		}
	}
	return out
}

// standIn is the package of the stand-in server, with what is below it.
const standIn = "mssqltest"

// importRules are the rules of docs/architecture.md, "Who may import whom".
var importRules = []rule{
	{"only the root package, cmd, bench, examples, internal/kafka, internal/compat and internal/crashtest import Benthos", func(f goFile) string {
		if f.dir == "." || under(f.dir, "cmd", "bench", "examples", "internal/kafka", "internal/compat", "internal/crashtest") {
			return ""
		}
		return f.imported(benthosPath)
	}},
	{"nothing below the root package logs or prints", func(f goFile) string {
		if f.test || f.dir == "." || under(f.dir, "bench", "cmd", standIn, "internal/compat", "internal/crashtest") {
			return ""
		}
		if i := f.imported("log"); i != "" {
			return i
		}
		return strings.Join(f.prints, ", ")
	}},
	{"azuread is imported by cmd and by files behind a build tag", func(f goFile) string {
		if under(f.dir, "cmd") || f.tag {
			return ""
		}
		return f.imported(azureadPath)
	}},
	{"internal/tds knows nothing of Arrow, and no other package of ours", func(f goFile) string {
		if !under(f.dir, "internal/tds") {
			return ""
		}
		for _, p := range f.ours() {
			if p != "internal/tds" {
				return p
			}
		}
		return f.imported(arrowPath)
	}},
	{"the stand-in imports internal/tds and no other production package", func(f goFile) string {
		if !under(f.dir, standIn) {
			return ""
		}
		for _, p := range f.ours() {
			if p != "internal/tds" && !under(p, standIn) {
				return p
			}
		}
		return ""
	}},
	{"production packages do not import the stand-in", func(f goFile) string {
		if f.test || under(f.dir, standIn, "bench", "cmd", "internal/compat", "internal/crashtest") {
			return ""
		}
		return f.imported(module + "/" + standIn)
	}},
	{"nobody but bench imports bench", func(f goFile) string {
		if under(f.dir, "bench") {
			return ""
		}
		return f.imported(module + "/bench")
	}},
	{"changetable and snapshot do not know each other, nor what is above them", func(f goFile) string {
		for _, self := range []string{"changetable", "snapshot"} {
			if !under(f.dir, self) || f.outside { // a test from outside replays the one over the other
				continue
			}
			for _, p := range f.ours() {
				if p == "." || under(p, "internal/capture", "internal/body", "internal/diagnose") || self != p && under(p, "changetable", "snapshot") {
					return p
				}
			}
		}
		return ""
	}},
	{"internal/capture is imported by the root package alone", func(f goFile) string {
		if f.dir == "." || under(f.dir, "internal/capture", "internal/compat") {
			return ""
		}
		return f.imported(module + "/internal/capture")
	}},
	{"internal/kafka is imported by the standalone binary, its benchmark and tests", func(f goFile) string {
		if f.test || under(f.dir, "internal/kafka", "cmd/mssqlcdc", "bench/kafka") {
			return ""
		}
		return f.imported(module+"/internal/kafka", franzPath)
	}},
	{"internal/kafka knows no other package of ours", func(f goFile) string {
		if f.test || !under(f.dir, "internal/kafka") {
			return ""
		}
		return strings.Join(f.ours(), ", ")
	}},
	{"checkpoint imports no package of ours but internal/crashpoint", func(f goFile) string {
		if f.test || !under(f.dir, "checkpoint") {
			return ""
		}
		return strings.Join(slices.DeleteFunc(f.ours(), func(p string) bool { return p == "internal/crashpoint" }), ", ")
	}},
	{"internal/crashpoint imports nothing", func(f goFile) string {
		if !under(f.dir, "internal/crashpoint") {
			return ""
		}
		return strings.Join(f.imports, ", ")
	}},
	{"unsafe is used in internal/session only", func(f goFile) string {
		if f.test || under(f.dir, "internal/session") { // a test may ask for a size
			return ""
		}
		return f.imported("unsafe")
	}},
}

func violations(files []goFile, rules []rule) (out []string) {
	for _, f := range files {
		for _, r := range rules {
			if what := r.check(f); what != "" {
				out = append(out, fmt.Sprintf("%s: %s (rule: %s)", f.name, what, r.name))
			}
		}
	}
	return out
}

func TestImports(t *testing.T) {
	files := goFiles(t)
	if len(files) < 100 {
		t.Fatalf("only %d Go files were found", len(files))
	}
	for _, v := range violations(files, importRules) {
		t.Error(v)
	}
}

// TestImportRules shows that each rule can fail.
func TestImportRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		file goFile
		ok   bool
	}{
		{"Benthos in the root", goFile{dir: ".", imports: []string{benthosPath + "/v4/public/service"}}, true},
		{"Benthos in capture", goFile{dir: "internal/capture", imports: []string{benthosPath + "/v4/public/service"}}, false},
		{"Benthos in a test of capture", goFile{dir: "internal/capture", test: true, imports: []string{benthosPath + "/v4/public/service"}}, false},
		{"slog in checkpoint", goFile{dir: "checkpoint", imports: []string{"log/slog"}}, false},
		{"Println in rowset", goFile{dir: "internal/rowset", prints: []string{"fmt.Println"}}, false},
		{"Println in a test", goFile{dir: "internal/rowset", test: true, prints: []string{"fmt.Println"}}, true},
		{"Println in cmd", goFile{dir: "cmd/mssqlcdc", prints: []string{"fmt.Println"}}, true},
		{"the Kafka components in the binary", goFile{dir: "cmd/mssqlcdc", imports: []string{module + "/internal/kafka"}}, true},
		{"the Kafka components in the root", goFile{dir: ".", imports: []string{module + "/internal/kafka"}}, false},
		{"a Kafka client in the root", goFile{dir: ".", imports: []string{franzPath + "/pkg/kgo"}}, false},
		{"session in the Kafka components", goFile{dir: "internal/kafka", imports: []string{module + "/internal/session"}}, false},
		{"azuread in cmd", goFile{dir: "cmd/mssqlcdc", imports: []string{azureadPath}}, true},
		{"azuread in the root", goFile{dir: ".", imports: []string{azureadPath}}, false},
		{"azuread in the root behind a tag", goFile{dir: ".", tag: true, imports: []string{azureadPath}}, true},
		{"Arrow in tds", goFile{dir: "internal/tds", imports: []string{arrowPath + "/v18/arrow"}}, false},
		{"sqltype in tds", goFile{dir: "internal/tds", imports: []string{module + "/internal/sqltype"}}, false},
		{"tds in the stand-in", goFile{dir: "mssqltest/internal/server", imports: []string{module + "/internal/tds"}}, true},
		{"sqltype in the stand-in", goFile{dir: "mssqltest/internal/value", imports: []string{module + "/internal/sqltype"}}, false},
		{"the root in the stand-in", goFile{dir: "mssqltest", imports: []string{module}}, false},
		{"the stand-in in session", goFile{dir: "internal/session", imports: []string{module + "/mssqltest"}}, false},
		{"the stand-in in a test of session", goFile{dir: "internal/session", test: true, imports: []string{module + "/mssqltest"}}, true},
		{"snapshot in changetable", goFile{dir: "changetable", imports: []string{module + "/snapshot"}}, false},
		{"changetable in snapshot", goFile{dir: "snapshot", imports: []string{module + "/changetable"}}, false},
		{"changetable in a test of snapshot", goFile{dir: "snapshot", test: true, imports: []string{module + "/changetable"}}, false},
		{"changetable in a test of snapshot from outside", goFile{dir: "snapshot", test: true, outside: true, imports: []string{module + "/changetable"}}, true},
		{"capture in changetable", goFile{dir: "changetable", imports: []string{module + "/internal/capture"}}, false},
		{"capture in diagnose", goFile{dir: "internal/diagnose", imports: []string{module + "/internal/capture"}}, false},
		{"crashpoint in checkpoint", goFile{dir: "checkpoint", imports: []string{module + "/internal/crashpoint"}}, true},
		{"sync in crashpoint", goFile{dir: "internal/crashpoint", imports: []string{"sync"}}, false},
		{"Benthos in crashtest", goFile{dir: "internal/crashtest", imports: []string{benthosPath + "/v4/public/service"}}, true},
		{"sqltype in checkpoint", goFile{dir: "checkpoint", imports: []string{module + "/internal/sqltype"}}, false},
		{"Benthos in bench", goFile{dir: "bench/write", imports: []string{benthosPath + "/v4/public/service"}}, true},
		{"bench in the root", goFile{dir: ".", imports: []string{module + "/bench/internal/measure"}}, false},
		{"unsafe in tds", goFile{dir: "internal/tds", imports: []string{"unsafe"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := violations([]goFile{tt.file}, importRules); (len(got) == 0) != tt.ok {
				t.Errorf("violations of %+v: %q", tt.file, got)
			}
		})
	}
}

// goFiles reads the imports of every Go file of the module, whatever its build constraints.
func goFiles(t *testing.T) (out []goFile) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(set, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(p)
		f := goFile{name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), outside: strings.HasSuffix(parsed.Name.Name, "_test"), tag: needsTag(parsed), prints: printCalls(parsed)}
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		out = append(out, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// needsTag tells whether a file is left out of a build without tags, on any system.
func needsTag(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil {
				return !expr.Eval(func(tag string) bool { return tag != "azuread" })
			}
		}
	}
	return false
}

// printCalls finds calls of fmt.Print and its kin, of print and println, and uses of os.Stdout and os.Stderr.
func printCalls(f *ast.File) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			call := pkg.Name + "." + n.Sel.Name
			if slices.Contains([]string{"fmt.Print", "fmt.Printf", "fmt.Println", "os.Stdout", "os.Stderr"}, call) {
				out = append(out, call)
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && (fun.Name == "print" || fun.Name == "println") {
				out = append(out, fun.Name)
			}
		}
		return true
	})
	return out
}
