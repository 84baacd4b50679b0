package exec

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// run is one running batch, procedure or function: its variables, where its results go, which statement it is at.
type run struct {
	s    *Session
	ctx  context.Context
	sink Sink
	b    *batch
	db   *storage.Database // of the procedure or function; nil: the session's
	vars map[string]*variable

	parent *run
	proc   string // schema.name of the procedure, "" in a batch
	procID int32
	inFunc bool // in a function, which may change nothing but its own table variables

	stmt          *statement
	current       ast.Statement
	try           int             // TRY blocks being run
	caught        []*sqlerr.Error // errors of the CATCH blocks being run, innermost last
	scopeIdentity value.Value
	assigned      int64       // rows that a SELECT @v = … went over
	recursion     int         // OPTION (MAXRECURSION) of the statement
	status        int32       // RETURN n
	result        value.Value // RETURN of a scalar function
	fn            *function
	insertExec    bool // the results of an INSERT … EXEC are being collected
	remote        bool // a text that the client has sent with parameters
	trig          *triggerRun
	cursors       map[string]*cursor // local ones
}

// statement is one statement being run.
type statement struct {
	tx       *storage.Tx
	returned int64     // rows given to the client
	cascaded []*firing // what foreign keys did to other tables, for their triggers
}

// variable is a declared variable or parameter; table is set for a table variable.
type variable struct {
	name     string
	typ      value.Type
	val      value.Value
	table    *memTable
	isCursor bool
	cursor   *cursor // nil while none is allocated
}

// errAborted ends a batch whose error has been reported.
var errAborted = errors.New("batch aborted")

// errClosed ends a batch and its connection after an error of class 20 or more.
var errClosed = errors.New("connection ended by the server")

func (s *Session) newRun(ctx context.Context, sink Sink) *run {
	return &run{s: s, ctx: ctx, sink: sink, vars: map[string]*variable{}}
}

// nested makes the run of a procedure, a function or a text that this one calls.
func (r *run) nested(sink Sink) *run {
	return &run{s: r.s, ctx: r.ctx, sink: sink, vars: map[string]*variable{}, parent: r, inFunc: r.inFunc}
}

// compiler compiles the statements of the run.
func (r *run) compiler() *compiler {
	db := r.db
	if db == nil {
		db = r.s.db
	}
	return &compiler{r: r, db: db}
}

// context is what objects of the server run in.
func (r *run) context(db *storage.Database) *Context {
	c := &Context{Session: r.s, DB: db, Env: &r.s.env, Sink: r.sink, ctx: r.ctx, run: r}
	if r.stmt != nil {
		c.Tx = r.stmt.tx
	} else {
		c.Tx = r.s.tran.tx
	}
	return c
}

func (r *run) lookup(name string) *variable { return r.vars[strings.ToLower(name)] }

func (r *run) maxRecursion() int {
	if r.recursion >= 0 && r.recursion != 0 {
		return r.recursion
	}
	if r.recursion < 0 {
		return 0
	}
	return maxRecursion
}

// caughtError is the error of the innermost CATCH block, in this run or in those that called it.
func (r *run) caughtError() *sqlerr.Error {
	for ; r != nil; r = r.parent {
		if n := len(r.caught); n > 0 {
			return r.caught[n-1]
		}
	}
	return nil
}

// trying reports whether a TRY block of this run or of a caller is active.
func (r *run) trying() bool {
	for ; r != nil; r = r.parent {
		if r.try > 0 {
			return true
		}
	}
	return false
}

// flow is how a statement list ended.
type flow uint8

const (
	flowNext flow = iota
	flowBreak
	flowContinue
	flowReturn
	flowGoto
)

// top runs a batch and settles what is left of it.
func (r *run) top(b *batch) error {
	r.b = b
	if r.s.opt.ParseOnly {
		return nil
	}
	_, err := r.list(b.stmts)
	if err := r.settle(err); err != nil {
		return err
	}
	return r.endBatch()
}

// settle keeps of an error only what the connection must know.
func (r *run) settle(err error) error {
	if err == errAborted {
		return nil
	}
	var se *sqlerr.Error
	if errors.As(err, &se) {
		if rerr := r.report(se); rerr != nil && rerr != errAborted {
			return rerr
		}
		return nil
	}
	return err
}

// endBatch rolls back a transaction that cannot be committed (3998).
func (r *run) endBatch() error {
	if r.s.tran.doomed && r.s.tran.count > 0 {
		if err := r.report(sqlerr.New(3998)); err != nil && err != errAborted {
			return err
		}
		return r.s.tran.rollback(r.sink)
	}
	return nil
}

// list runs statements in order.
func (r *run) list(stmts []ast.Statement) (flow, error) {
	for i := 0; i < len(stmts); i++ {
		fl, err := r.one(stmts[i])
		if err != nil {
			return flowNext, err
		}
		if fl == flowGoto {
			at := labelAt(stmts, r.gotoLabel())
			if at < 0 {
				return fl, nil
			}
			i = at
			r.setGoto("")
			continue
		}
		if fl != flowNext {
			return fl, nil
		}
	}
	return flowNext, nil
}

func labelAt(stmts []ast.Statement, name string) int {
	for i, st := range stmts {
		if l, ok := st.(*ast.LabelStatement); ok && strings.EqualFold(strings.TrimSuffix(strings.TrimSpace(l.Value), ":"), name) {
			return i
		}
	}
	return -1
}

func (r *run) gotoLabel() string {
	if v := r.vars[gotoVar]; v != nil {
		return v.name
	}
	return ""
}

func (r *run) setGoto(label string) { r.vars[gotoVar] = &variable{name: label} }

// gotoVar keeps the label that a GOTO is on its way to; no variable can have this name.
const gotoVar = "goto"

// one runs one statement and deals with its error: inside TRY it goes up to the CATCH block, else it is reported and,
// by its kind and XACT_ABORT, the batch goes on or ends.
func (r *run) one(st ast.Statement) (flow, error) {
	if err := r.ctx.Err(); err != nil {
		return flowNext, r.interrupted(err)
	}
	r.current = st
	fl, err := r.hooked(st)
	if err == nil {
		return fl, nil
	}
	var se *sqlerr.Error
	if !errors.As(err, &se) {
		return flowNext, r.interrupted(err)
	}
	se = r.located(se, st)
	r.s.lastError = se.Number
	if se.Class > 10 {
		r.s.rowCount = 0
	}
	return flowNext, r.fail(se)
}

// interrupted is where an attention, or the end of the connection, reaches a statement: XACT_ABORT rolls the transaction back,
// without it the transaction stays as it is.
func (r *run) interrupted(err error) error {
	if r.ctx.Err() == nil || !r.s.opt.XactAbort {
		return err
	}
	if rerr := r.s.tran.rollback(r.sink); rerr != nil {
		return rerr
	}
	return err
}

// located fills in the line and the procedure of an error.
func (r *run) located(se *sqlerr.Error, st ast.Statement) *sqlerr.Error {
	if r.s.origin.err != se {
		r.s.origin = origin{se, r}
	}
	if se.Line != 0 && (se.Proc != "" || r.proc == "") {
		return se
	}
	e := *se
	if e.Line == 0 {
		if f := fragment(st); f != nil {
			e.Line = int32(max(f.StartLine, 1))
		}
	}
	if e.Proc == "" {
		e.Proc = r.proc
	}
	r.s.origin.err = &e
	return &e
}

// origin is the run in which the last error arose.
type origin struct {
	err *sqlerr.Error
	run *run
}

// fail decides what an error ends. A nil result means that the batch goes on.
func (r *run) fail(se *sqlerr.Error) error {
	tran := &r.s.tran
	raised := r.s.raised != nil && r.s.raised.Number == se.Number && r.s.raised.Message == se.Message
	r.s.raised = nil
	dooms := se.DoomsTran || conversionError[se.Number] && !raised || r.s.opt.XactAbort && se.Class > 10 && !raised
	if r.trying() && se.Class < 20 {
		if dooms && tran.count > 0 {
			tran.doomed = true
		}
		return se
	}
	if err := r.sink.Message(se); err != nil {
		return err
	}
	if !dooms && !raised && terminates(se, r.current) {
		if err := r.sink.Message(r.located(sqlerr.New(3621), r.current)); err != nil {
			return err
		}
	}
	// The transaction is gone before the statement's DONE says so: there are drivers that read no further.
	if dooms && tran.count > 0 {
		if err := tran.rollback(r.sink); err != nil {
			return err
		}
	}
	if err := r.sink.DoneStatement(CmdOther, 0, false); err != nil {
		return err
	}
	switch {
	case se.Class >= 20:
		return errClosed
	case dooms, se.EndsBatch:
		return errAborted
	}
	return nil
}

// terminates reports whether 3621, "The statement has been terminated.", follows an error: where it undoes what a statement has
// changed already, and the batch goes on.
func terminates(se *sqlerr.Error, st ast.Statement) bool {
	switch st.(type) {
	case *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement:
		return undoesStatement[se.Number] && !se.EndsBatch
	case *ast.CreateIndexStatement:
		return se.Number == 1505
	}
	return false
}

// undoesStatement are the errors that are found while a statement writes.
var undoesStatement = map[int32]bool{
	220: true, 232: true, 512: true, 515: true, 547: true, 550: true, 1222: true, 2601: true, 2627: true, 2628: true, 8115: true, 8134: true,
	8152: true, 8672: true,
}

// conversionError are the errors of conversions between types, which end the batch and its transaction.
var conversionError = map[int32]bool{241: true, 242: true, 244: true, 245: true, 248: true, 293: true, 295: true, 8114: true, 8169: true, 9819: true}

// report sends an error that belongs to no statement.
func (r *run) report(err error) error {
	var se *sqlerr.Error
	if !errors.As(err, &se) {
		return err
	}
	if se.Line == 0 {
		e := *se
		e.Line = 1
		se = &e
	}
	r.s.lastError = se.Number
	if err := r.sink.Message(se); err != nil {
		return err
	}
	return r.sink.DoneStatement(CmdOther, 0, false)
}

// done ends a statement towards the client.
func (r *run) done(cmd uint16, count int64, hasCount bool) error {
	r.s.lastError = 0
	if hasCount {
		r.s.rowCount = count
	}
	return r.sink.DoneStatement(cmd, count, hasCount && !r.s.opt.NoCount)
}

// valueOf is reflect.ValueOf, for the tree walker.
func valueOf(n any) reflect.Value { return reflect.ValueOf(n) }
