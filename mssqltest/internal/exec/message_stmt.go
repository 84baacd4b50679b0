package exec

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func (r *run) print(x *ast.PrintStatement) error {
	v, err := r.evalTo(x.Expression, nvarcharType(4000, r.s.db.Collation))
	if err != nil {
		return err
	}
	s := ""
	if !v.IsNull() {
		s = v.Str()
	}
	if err := r.sink.Message(&sqlerr.Error{Number: 0, State: 1, Class: 0, Message: s, Proc: r.proc, Line: lineOf(x)}); err != nil {
		return err
	}
	return r.done(CmdOther, 0, false)
}

func lineOf(st ast.Statement) int32 {
	if f := fragment(st); f != nil && f.StartLine > 0 {
		return int32(f.StartLine)
	}
	return 1
}

// raiserror is RAISERROR: class 10 and less is a message, 11 to 18 an error that ends nothing by itself.
func (r *run) raiserror(x *ast.RaiseErrorStatement) error {
	v, t, err := r.eval(x.FirstParameter)
	if err != nil {
		return err
	}
	class, err := r.evalTo(x.SecondParameter, typeInt)
	if err != nil {
		return err
	}
	state, err := r.evalTo(x.ThirdParameter, typeInt)
	if err != nil {
		return err
	}
	e := &sqlerr.Error{Number: 50000, State: uint8(state.Int()), Class: uint8(min(max(class.Int(), 0), 25)), Proc: r.proc, Line: lineOf(x)}
	switch {
	case isString(t):
		var args []value.Value
		for _, n := range x.OptionalParameters {
			a, _, err := r.eval(n)
			if err != nil {
				return err
			}
			args = append(args, a)
		}
		if e.Message, err = formatMessage(v.Str(), args); err != nil {
			return err
		}
	case v.IsNull():
		return sqlerr.New(102, "NULL")
	default:
		return sqlerr.New(18054, v.Int(), e.Class, e.State)
	}
	if e.Class > 18 && !strings.Contains(strings.ToUpper(x.RaiseErrorOptions), "LOG") {
		return sqlerr.New(2754, e.Class)
	}
	if strings.Contains(strings.ToUpper(x.RaiseErrorOptions), "SETERROR") {
		r.s.lastError = e.Number
	}
	if e.Class <= 10 {
		if err := r.sink.Message(e); err != nil {
			return err
		}
		return r.done(CmdOther, 0, false)
	}
	r.s.raised = e
	return e
}

// formatMessage fills %d, %i, %s, %u, %x and %o of a RAISERROR text (2786, 2787 for what does not fit).
func formatMessage(s string, args []value.Value) (string, error) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		j := i + 1
		for j < len(s) && strings.IndexByte("-+0# 123456789.*hlI64", s[j]) >= 0 {
			j++
		}
		if j >= len(s) {
			return "", sqlerr.New(2787, s[i:])
		}
		if s[j] == '%' {
			b.WriteByte('%')
			i = j
			continue
		}
		var v value.Value
		if n < len(args) {
			v = args[n]
		}
		n++
		flags := strings.NewReplacer("I64", "", "h", "", "l", "").Replace(s[i+1 : j])
		switch c := s[j]; {
		case v.IsNull() && strings.IndexByte("diouxXs", c) >= 0:
			b.WriteString("(null)")
		case c == 's' && isText(v):
			fmt.Fprintf(&b, "%"+flags+"s", v.Str())
		case strings.IndexByte("diouxX", c) >= 0 && isWhole(v):
			verb := string(c)
			if c == 'i' || c == 'u' {
				verb = "d"
			}
			fmt.Fprintf(&b, "%"+flags+verb, v.Int())
		case strings.IndexByte("diouxXs", c) >= 0:
			return "", sqlerr.New(2786, n)
		default:
			return "", sqlerr.New(2787, s[i:j+1])
		}
		i = j
	}
	return b.String(), nil
}

func isText(v value.Value) bool {
	switch v.ID() {
	case value.Char, value.VarChar, value.NChar, value.NVarChar:
		return true
	}
	return false
}

func isWhole(v value.Value) bool {
	switch v.ID() {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		return true
	}
	return false
}

// throw is THROW: with arguments an error of class 16 of one's own, without them the caught error again.
func (r *run) throw(x *ast.ThrowStatement) error {
	if x.ErrorNumber == nil {
		for q := r; q != nil; q = q.parent {
			if n := len(q.caught); n > 0 {
				e := *q.caught[n-1]
				e.EndsBatch = true
				return &e
			}
		}
		return sqlerr.New(10704)
	}
	num, err := r.evalTo(x.ErrorNumber, typeInt)
	if err != nil {
		return err
	}
	msg, err := r.evalTo(x.Message, nvarcharType(2048, r.s.db.Collation))
	if err != nil {
		return err
	}
	state, err := r.evalTo(x.State, typeInt)
	if err != nil {
		return err
	}
	if num.Int() < 50000 {
		return sqlerr.New(35100, num.Int())
	}
	return &sqlerr.Error{Number: int32(num.Int()), State: uint8(state.Int()), Class: 16, Message: msg.Str(), Proc: r.proc, Line: lineOf(x), EndsBatch: true}
}
