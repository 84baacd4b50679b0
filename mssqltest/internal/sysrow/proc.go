package sysrow

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Args are the arguments of a system procedure by position.
type Args struct {
	Vals  []value.Value
	given []bool
}

// Str is a text argument; "" if it is NULL.
func (a Args) Str(i int) string {
	if a.Vals[i].IsNull() {
		return ""
	}
	return a.Vals[i].Str()
}

// Int is an integer or bit argument; or if it is NULL.
func (a Args) Int(i int, or int64) int64 {
	if a.Vals[i].IsNull() {
		return or
	}
	return a.Vals[i].Int()
}

// Null reports whether an argument is NULL or was left out without a default.
func (a Args) Null(i int) bool { return a.Vals[i].IsNull() }

// Given reports whether the caller passed an argument.
func (a Args) Given(i int) bool { return a.given[i] }

// Proc makes a system procedure in schema sys. Its parameters are written "@name type", "@name type = default" or
// "@name type output"; a default is NULL, a number or a word.
func Proc(name, params string, run func(c *exec.Context, a Args) (int32, error)) *exec.Proc {
	p := &exec.Proc{Schema: "sys", Name: name, Params: procParams(params)}
	p.Run = func(c *exec.Context, vals []value.Value, given []bool) (int32, error) {
		return run(c, Args{Vals: vals, given: given})
	}
	return p
}

// procParams parses the parameter list of Proc; it runs at registration.
func procParams(spec string) []exec.ProcParam {
	var out []exec.ProcParam
	for _, field := range splitColumns(spec) {
		name, typ, ok := strings.Cut(field, " ")
		if !ok || !strings.HasPrefix(name, "@") {
			panic(fmt.Sprintf("sysrow: bad parameter %q", field))
		}
		p := exec.ProcParam{Name: name}
		typ, def, hasDefault := strings.Cut(typ, "=")
		typ, p.Output = strings.CutSuffix(strings.TrimSpace(typ), " output")
		p.Type, p.HasDefault = TypeNamed(strings.TrimSpace(typ)), hasDefault || p.Output
		if hasDefault {
			p.Default = defaultValue(strings.TrimSpace(def), p.Type)
		}
		out = append(out, p)
	}
	return out
}

func defaultValue(s string, t value.Type) value.Value {
	if s == "NULL" {
		return value.Value{}
	}
	var v any = s
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && !t.IsChar() {
		v = n
	}
	out, err := Value(v, t, time.UTC)
	if err != nil {
		panic(fmt.Sprintf("sysrow: default %q: %v", s, err))
	}
	return out
}

// Emit sends a result set of a procedure to its sink.
func Emit(c *exec.Context, cols []exec.Column, rows iter.Seq[Row]) error {
	if err := c.Sink.Columns(cols); err != nil {
		return err
	}
	n := int64(0)
	for row := range rows {
		vals, err := Cells(cols, row, c.Instance().Storage.Location())
		if err != nil {
			return err
		}
		if err := c.Sink.Row(vals); err != nil {
			return err
		}
		n++
	}
	return c.Sink.DoneStatement(exec.CmdSelect, n, true)
}
