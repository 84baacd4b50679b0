package exec

import (
	"reflect"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// statement runs one statement by its kind.
func (r *run) statement(st ast.Statement) (flow, error) {
	switch x := st.(type) {
	case *ast.BeginEndBlockStatement:
		return r.list(x.StatementList.Statements)
	case *ast.IfStatement:
		return r.ifElse(x)
	case *ast.WhileStatement:
		return r.while(x)
	case *ast.TryCatchStatement:
		return r.tryCatch(x)
	case *ast.BreakStatement:
		return flowBreak, nil
	case *ast.ContinueStatement:
		return flowContinue, nil
	case *ast.ReturnStatement:
		return flowReturn, r.returnValue(x)
	case *ast.GoToStatement:
		r.setGoto(x.LabelName.Value)
		return flowGoto, nil
	case *ast.LabelStatement:
		return flowNext, nil
	}
	if r.s.opt.NoExec {
		if p, ok := st.(*ast.PredicateSetStatement); !ok || !strings.Contains(p.Options, "NoExec") {
			return flowNext, nil
		}
	}
	return flowNext, r.simple(st)
}

// simple runs a statement without a block.
func (r *run) simple(st ast.Statement) error {
	if r.inFunc && !allowedInFunction(st) {
		return sqlerr.New(443, strings.TrimSuffix(strings.TrimPrefix(reflect.TypeOf(st).String(), "*ast."), "Statement"))
	}
	if run, ok := r.dataStatement(st); ok {
		return run()
	}
	if run, ok := r.sessionStatement(st); ok {
		return run()
	}
	if run, ok := r.cursorStatement(st); ok {
		return run()
	}
	if run, ok := r.definition(st); ok {
		return run()
	}
	return notSupported("the statement " + strings.TrimPrefix(reflect.TypeOf(st).String(), "*ast."))
}

func allowedInFunction(st ast.Statement) bool {
	switch x := st.(type) {
	case *ast.SelectStatement:
		return x.Into == nil
	case *ast.DeclareVariableStatement, *ast.SetVariableStatement, *ast.DeclareTableVariableStatement:
		return true
	case *ast.InsertStatement:
		_, ok := x.InsertSpecification.Target.(*ast.VariableTableReference)
		return ok
	case *ast.UpdateStatement:
		_, ok := x.UpdateSpecification.Target.(*ast.VariableTableReference)
		return ok
	case *ast.DeleteStatement:
		_, ok := x.DeleteSpecification.Target.(*ast.VariableTableReference)
		return ok
	}
	return false
}

// dataStatement finds how to run a statement that reads or changes rows, or handles variables.
func (r *run) dataStatement(st ast.Statement) (func() error, bool) {
	switch x := st.(type) {
	case *ast.SelectStatement:
		return func() error { return r.selectStatement(x) }, true
	case *ast.InsertStatement:
		return func() error { return r.insertStatement(x) }, true
	case *ast.UpdateStatement:
		return func() error { return r.updateStatement(x) }, true
	case *ast.DeleteStatement:
		return func() error { return r.deleteStatement(x) }, true
	case *ast.MergeStatement:
		return func() error { return r.mergeStatement(x) }, true
	case *ast.TruncateTableStatement:
		return func() error { return r.truncate(x) }, true
	case *ast.DeclareVariableStatement:
		return func() error { return r.declare(x) }, true
	case *ast.DeclareTableVariableStatement:
		return func() error { return r.declareTable(x.Body) }, true
	case *ast.SetVariableStatement:
		return func() error { return r.setVariable(x) }, true
	case *ast.ExecuteStatement:
		return func() error { return r.execute(x.ExecuteSpecification, r.sink) }, true
	case *ast.PrintStatement:
		return func() error { return r.print(x) }, true
	case *ast.RaiseErrorStatement:
		return func() error { return r.raiserror(x) }, true
	case *ast.ThrowStatement:
		return func() error { return r.throw(x) }, true
	case *ast.WaitForStatement:
		return func() error { return r.waitFor(x) }, true
	}
	return nil, false
}

// sessionStatement finds how to run a statement that changes the session: transactions, SET, USE and the like.
func (r *run) sessionStatement(st ast.Statement) (func() error, bool) {
	switch x := st.(type) {
	case *ast.BeginTransactionStatement:
		return func() error { return r.beginTran(x) }, true
	case *ast.CommitTransactionStatement:
		return func() error { return r.commitTran() }, true
	case *ast.RollbackTransactionStatement:
		return func() error { return r.rollbackTran(x) }, true
	case *ast.SaveTransactionStatement:
		return func() error { return r.saveTran(x) }, true
	case *ast.UseStatement:
		return func() error { return r.use(x) }, true
	case *ast.PredicateSetStatement:
		return func() error { return r.setPredicate(x.Options, x.IsOn) }, true
	case *ast.SetStatisticsStatement:
		return func() error { return r.done(CmdSet, 0, false) }, true
	case *ast.SetCommandStatement:
		return func() error { return r.setCommands(x) }, true
	case *ast.SetTransactionIsolationLevelStatement:
		return func() error { return r.setIsolation(x.Level) }, true
	case *ast.SetTextSizeStatement:
		return func() error { return r.setTextSize(x) }, true
	case *ast.SetRowCountStatement:
		return func() error { return r.setRowCount(x) }, true
	case *ast.SetIdentityInsertStatement:
		return func() error { return r.setIdentityInsert(x) }, true
	case *ast.KillStatement:
		return func() error { return r.kill(x) }, true
	case *ast.DbccStatement:
		return func() error { return r.dbcc(x) }, true
	case *ast.CheckpointStatement, *ast.ReconfigureStatement:
		return func() error { return r.done(CmdOther, 0, false) }, true
	}
	return nil, false
}

// atomic runs fn as one statement of a transaction: the open one, or one of its own that it commits.
func (r *run) atomic(fn func() error) error { return r.inTx(fn, false) }

// change is atomic for a statement that changes something: it starts a transaction under IMPLICIT_TRANSACTIONS and is
// refused in a doomed one (3930).
func (r *run) change(fn func() error) error { return r.inTx(fn, true) }

func (r *run) inTx(fn func() error, writes bool) error {
	t := &r.s.tran
	if r.s.killed.Load() {
		return sqlerr.New(596)
	}
	if writes && t.doomed {
		return sqlerr.New(3930)
	}
	if r.s.opt.ImplicitTransactions && t.count == 0 && t.auto == nil {
		if err := t.begin(r.sink, "", 0); err != nil {
			return err
		}
	}
	tx, own := t.tx, false
	if tx == nil {
		tx = t.auto
	}
	if tx == nil {
		tx, own = t.newTx(0), true
		t.auto = tx
	}
	saved := r.stmt
	r.stmt = &statement{tx: tx}
	tx.BeginStatement()
	began := time.Now()
	err := fn()
	examined, returned := tx.StatementExamined(), r.stmt.returned
	tx.EndStatement(err == nil)
	r.stmt = saved
	if own {
		t.auto = nil
		switch {
		case t.tx == tx: // a trigger has begun a transaction in it, which stays open
		case err == nil:
			_, err = tx.Commit()
		default:
			tx.Rollback()
		}
	}
	if saved == nil {
		r.s.stats.RowsExamined = examined
		if h := r.s.in.Stats; h != nil && (r.parent == nil || r.remote) {
			h(StatementStats{SPID: r.s.spid, Text: r.text(), RowsExamined: examined, RowsReturned: returned, Duration: time.Since(began)})
		}
	}
	return err
}

func (r *run) text() string {
	if r.b == nil {
		return ""
	}
	return r.b.text
}

// bind fixes the definition of a table for the statement.
func (r *run) bind(t *storage.Table) (*storage.TableDef, error) {
	if r.stmt == nil {
		return t.Def(), nil
	}
	tx, db := r.stmt.tx, t.Database()
	if tx.Isolation() == storage.Snapshot && r.s.replica == nil && db.ID >= storage.FirstUserDatabase && !db.Props().SnapshotIsolation {
		return nil, sqlerr.New(3952, db.Name())
	}
	return tx.Bind(r.ctx, t)
}
