package exec

import (
	"errors"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// test evaluates the condition of IF and WHILE.
func (r *run) test(n ast.BooleanExpression) (bool, error) {
	ok := false
	err := r.atomicRead(func() error {
		sc := &scope{c: r.compiler()}
		p, err := sc.pred(n)
		if err != nil {
			return err
		}
		t, err := p.test(sc.newFrame(r, nil))
		ok = t == yes
		return err
	})
	return ok, err
}

// atomicRead is atomic without the start of an implicit transaction.
func (r *run) atomicRead(fn func() error) error {
	save := r.s.opt.ImplicitTransactions
	r.s.opt.ImplicitTransactions = false
	err := r.inTx(fn, false)
	r.s.opt.ImplicitTransactions = save
	return err
}

func (r *run) ifElse(x *ast.IfStatement) (flow, error) {
	ok, err := r.test(x.Predicate)
	if err != nil {
		return flowNext, err
	}
	if ok {
		return r.one(x.ThenStatement)
	}
	if x.ElseStatement != nil {
		return r.one(x.ElseStatement)
	}
	return flowNext, nil
}

func (r *run) while(x *ast.WhileStatement) (flow, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return flowNext, err
		}
		ok, err := r.test(x.Predicate)
		if err != nil || !ok {
			return flowNext, err
		}
		fl, err := r.one(x.Statement)
		if err != nil {
			return flowNext, err
		}
		switch fl {
		case flowBreak:
			return flowNext, nil
		case flowReturn, flowGoto:
			return fl, nil
		}
	}
}

// tryCatch runs TRY; an error of class 11 to 19 goes to CATCH. Names that do not resolve are found when a statement is
// compiled: such an error in the TRY block's own batch is not caught by it, as on a server.
func (r *run) tryCatch(x *ast.TryCatchStatement) (flow, error) {
	r.try++
	fl, err := r.list(x.TryStatements.Statements)
	r.try--
	if err == nil {
		return fl, nil
	}
	var se *sqlerr.Error
	if !errors.As(err, &se) || se.Class >= 20 {
		return flowNext, err
	}
	if (se.Number == 208 || se.Number == 207) && r.s.origin.run == r {
		return flowNext, r.uncaught(se)
	}
	r.caught = append(r.caught, se)
	r.s.lastError = se.Number
	fl, err = r.list(x.CatchStatements.Statements)
	r.caught = r.caught[:len(r.caught)-1]
	return fl, err
}

// uncaught passes an error on past a TRY block.
func (r *run) uncaught(se *sqlerr.Error) error {
	e := *se
	e.EndsBatch = true
	return r.fail(&e)
}

// waitFor is WAITFOR DELAY and TIME; it ends with the request's context.
func (r *run) waitFor(x *ast.WaitForStatement) error {
	if x.Statement != nil {
		return notSupported("WAITFOR (statement)")
	}
	v, t, err := r.eval(x.Parameter)
	if err != nil {
		return err
	}
	d, err := waitTime(r.s.env.Time(), value.Display(v, t), x.WaitForOption)
	if err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return r.done(CmdOther, 0, false)
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// waitTime reads 'hh:mm[:ss[.mss]]' as a delay, or as the next time of day.
func waitTime(now time.Time, s, option string) (time.Duration, error) {
	var at time.Time
	var err error
	for _, layout := range [...]string{"15:04:05.999999999", "15:04"} {
		if at, err = time.Parse(layout, s); err == nil {
			break
		}
	}
	if err != nil {
		return 0, sqlerr.New(148, s)
	}
	d := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second + time.Duration(at.Nanosecond())
	if option != "Time" {
		return d, nil
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	until := midnight.Add(d).Sub(now)
	if until < 0 {
		until += 24 * time.Hour
	}
	return until, nil
}

// eval computes an expression of a statement that has no tables.
func (r *run) eval(n ast.ScalarExpression) (value.Value, value.Type, error) {
	var v value.Value
	var t value.Type
	err := r.atomicRead(func() error {
		sc := &scope{c: r.compiler()}
		e, err := sc.expr(n)
		if err != nil {
			return err
		}
		t = e.typ
		v, err = e.eval(sc.newFrame(r, nil))
		return err
	})
	return v, t, err
}

// evalTo is eval with a conversion to a type.
func (r *run) evalTo(n ast.ScalarExpression, to value.Type) (value.Value, error) {
	v, t, err := r.eval(n)
	if err != nil || v.IsNull() {
		return value.Value{}, err
	}
	return value.AssignVar(&r.s.env, v, t, to)
}

func (r *run) returnValue(x *ast.ReturnStatement) error {
	if x.Expression == nil {
		return nil
	}
	if r.result.ID() == value.Null && r.returns() != nil {
		v, err := r.evalTo(x.Expression, *r.returns())
		r.result = v
		return err
	}
	if r.proc == "" {
		return sqlerr.New(178)
	}
	v, err := r.evalTo(x.Expression, typeInt)
	if err == nil && !v.IsNull() {
		r.status = int32(v.Int())
	}
	return err
}
