package mssqlcdc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc/internal/kafka"
)

//go:generate go test . -run TestFieldsPage -update

// fieldDoc is a field of a component as the spec describes itself.
type fieldDoc struct {
	Name        string      `json:"name"`
	Type        string      `json:"type"`
	Kind        string      `json:"kind"`
	Description string      `json:"description"`
	Advanced    bool        `json:"is_advanced"`
	Deprecated  bool        `json:"is_deprecated"`
	Optional    bool        `json:"is_optional"`
	Secret      bool        `json:"is_secret"`
	Default     any         `json:"default"`
	Options     [][2]string `json:"annotated_options"`
	Examples    []any       `json:"examples"`
	Children    []fieldDoc  `json:"children"`
}

type componentDoc struct {
	Summary     string   `json:"summary"`
	Description string   `json:"description"`
	Config      fieldDoc `json:"config"`
}

// cdcDoc is what Benthos knows of mssql_cdc.
func cdcDoc(t *testing.T) componentDoc {
	t.Helper()
	view, ok := service.GlobalEnvironment().GetInputConfig("mssql_cdc")
	if !ok {
		t.Fatal("mssql_cdc is not registered")
	}
	return docOf(t, view)
}

// bulkDoc is what Benthos knows of mssql_bulk.
func bulkDoc(t *testing.T) componentDoc {
	t.Helper()
	view, ok := service.GlobalEnvironment().GetOutputConfig("mssql_bulk")
	if !ok {
		t.Fatal("mssql_bulk is not registered")
	}
	return docOf(t, view)
}

func docOf(t *testing.T, view *service.ConfigView) componentDoc {
	t.Helper()
	text, err := view.FormatJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc componentDoc
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Config.Children) == 0 {
		t.Fatal("the spec has no fields")
	}
	return doc
}

func TestFieldsPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from the specs of the components by go generate; do not edit. -->\n\n")
	writeComponent(t, &b, "mssql_cdc", cdcDoc(t))
	b.WriteString("\n")
	writeComponent(t, &b, "mssql_bulk", bulkDoc(t))
	in, _ := service.GlobalEnvironment().GetInputConfig("redpanda")
	b.WriteString("\n")
	writeComponent(t, &b, "the input redpanda", docOf(t, in))
	out, _ := service.GlobalEnvironment().GetOutputConfig("redpanda")
	b.WriteString("\n")
	writeComponent(t, &b, "the output redpanda", docOf(t, out))
	checkGolden(t, "docs/fields.md", b.Bytes())
}

func writeComponent(t *testing.T, b *bytes.Buffer, name string, doc componentDoc) {
	t.Helper()
	fmt.Fprintf(b, "# Fields of %s\n\n", name)
	b.WriteString(doc.Summary + "\n\n")
	b.WriteString(strings.TrimSpace(strings.ReplaceAll(doc.Description, "\n== ", "\n## ")) + "\n")
	sections := []struct {
		title string
		has   func(fieldDoc) bool
	}{
		{"Fields", func(f fieldDoc) bool { return !f.Advanced && !f.Deprecated }},
		{"Advanced fields", func(f fieldDoc) bool { return f.Advanced && !f.Deprecated }},
		{"Deprecated fields", func(f fieldDoc) bool { return f.Deprecated }},
	}
	for _, s := range sections {
		if !slices.ContainsFunc(doc.Config.Children, s.has) {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n", s.title)
		for _, f := range doc.Config.Children {
			if s.has(f) {
				writeField(t, b, f)
			}
		}
	}
}

func writeField(t *testing.T, b *bytes.Buffer, f fieldDoc) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n\n%s\n", f.Name, traits(t, f), f.Description)
	slices.SortFunc(f.Options, func(x, y [2]string) int { return strings.Compare(x[0], y[0]) })
	for i, o := range f.Options {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- `%s`: %s\n", o[0], o[1])
	}
	if len(f.Children) > 0 {
		writeChildren(t, b, "", f.Children)
		return
	}
	for i, e := range f.Examples {
		if i == 0 {
			b.WriteString("\nFor example ")
		} else {
			b.WriteString(" or ")
		}
		fmt.Fprintf(b, "`%s`", inJSON(t, e))
	}
	if len(f.Examples) > 0 {
		b.WriteString(".\n")
	}
}

// traits is the line under a field's name.
func traits(t *testing.T, f fieldDoc) string {
	typ := f.Type
	if f.Kind == "array" {
		typ = "list of " + typ
	}
	out := []string{typ}
	switch {
	case f.Default != nil:
		out = append(out, "default `"+inJSON(t, f.Default)+"`")
	case f.Optional:
		out = append(out, "not set by default")
	case len(f.Children) == 0:
		out = append(out, "required")
	}
	if f.Secret {
		out = append(out, "secret")
	}
	return "*" + strings.Join(out, ", ") + "*"
}

// asciidocLink is a link inside the site that Benthos' own descriptions are written for.
var asciidocLink = regexp.MustCompile(`xref:[^\[ ]*\[([^\]]*)\]`)

// writeChildren lists the fields of a block that Benthos defines, with its own words.
func writeChildren(t *testing.T, b *bytes.Buffer, path string, fields []fieldDoc) {
	if path == "" {
		b.WriteString("\n| field | | |\n|---|---|---|\n")
	}
	for _, f := range fields {
		text, _, _ := strings.Cut(f.Description, "\n")
		text = strings.ReplaceAll(asciidocLink.ReplaceAllString(text, "$1"), "|", `\|`)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path+f.Name, strings.Trim(traits(t, f), "*"), text)
		sub := path + f.Name + "."
		if f.Kind == "array" {
			sub = path + f.Name + "[]."
		}
		if len(f.Children) > 0 {
			writeChildren(t, b, sub, f.Children)
		}
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
