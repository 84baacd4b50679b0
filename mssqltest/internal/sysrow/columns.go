package sysrow

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Columns parses a column list "name type, name type?": "?" marks a column that may be NULL. It runs at registration.
func Columns(spec string) []exec.Column {
	var out []exec.Column
	for _, field := range splitColumns(spec) {
		name, typ, ok := strings.Cut(field, " ")
		if !ok {
			panic(fmt.Sprintf("sysrow: column %q has no type", field))
		}
		typ, nullable := strings.CutSuffix(strings.TrimSpace(typ), "?")
		out = append(out, exec.Column{Name: name, Type: TypeNamed(typ), Nullable: nullable})
	}
	return out
}

// splitColumns cuts a list at the commas outside of parentheses.
func splitColumns(spec string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(spec); i++ {
		switch {
		case i == len(spec) || spec[i] == ',' && depth == 0:
			if f := strings.TrimSpace(spec[start:i]); f != "" {
				out = append(out, f)
			}
			start = i + 1
		case spec[i] == '(':
			depth++
		case spec[i] == ')':
			depth--
		}
	}
	return out
}

// TypeNamed is the type of a name as column lists write it: int, sysname, nvarchar(60), varbinary(max). Text has no
// collation of its own: it takes the database's.
func TypeNamed(s string) value.Type {
	name, arg, sized := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	var args []int
	if sized {
		n := value.Max
		if arg != "max" {
			var err error
			if n, err = strconv.Atoi(arg); err != nil {
				panic(fmt.Sprintf("sysrow: bad length in type %q", s))
			}
		}
		args = append(args, n)
	}
	t, err := value.ParseTypeName(name, args...)
	if err != nil {
		panic(fmt.Sprintf("sysrow: type %q: %v", s, err))
	}
	t.Coll = nil
	return t
}
