package exec

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// tranState is the transaction of a session: @@TRANCOUNT, its name, whether it can still be committed.
type tranState struct {
	s      *Session
	owner  *storage.Owner
	tx     *storage.Tx // of BEGIN TRAN
	auto   *storage.Tx // of the statement being run, when no transaction is open
	count  int
	name   string
	doomed bool
	quiet  bool // tx is that of a statement, which its triggers see as a transaction; the client knows nothing of it
}

func (t *tranState) init(s *Session) { t.s = s }

// newTx starts a transaction in storage with the session's settings; iso 0 is the session's level.
func (t *tranState) newTx(iso storage.Isolation) *storage.Tx {
	s := t.s
	if iso == 0 {
		iso = s.opt.Isolation
	}
	o := storage.TxOptions{
		Isolation: iso, Session: t.owner, DeadlockPriority: s.opt.DeadlockPriority,
		LockTimeout: func() time.Duration { return s.opt.LockTimeout },
	}
	if rep := s.replica; rep != nil {
		o.ReadOnlyReplica = true
		o.Roots = func(db *storage.Database) *storage.Root {
			if db.ID < storage.FirstUserDatabase {
				return nil
			}
			return rep.Root(db)
		}
		o.Isolation = storage.Snapshot
	}
	return s.in.Storage.Begin(o)
}

// state is XACT_STATE().
func (t *tranState) state() int64 {
	switch {
	case t.count == 0:
		return 0
	case t.doomed:
		return -1
	}
	return 1
}

func (t *tranState) descriptor() []byte {
	return binary.LittleEndian.AppendUint64(nil, t.s.TranDescriptor())
}

// begin is BEGIN TRAN: the first one starts, further ones count.
func (t *tranState) begin(sink Sink, name string, iso storage.Isolation) error {
	if t.count > 0 {
		if t.doomed {
			return sqlerr.New(3930)
		}
		t.count++
		return nil
	}
	t.tx, t.count, t.name, t.doomed, t.quiet = t.newTx(iso), 1, name, false, false
	if sink == nil {
		return nil
	}
	return sink.Env(EnvBeginTran, t.descriptor(), nil)
}

// commit is COMMIT: only the last one commits.
func (t *tranState) commit(sink Sink) error {
	switch {
	case t.count == 0:
		return sqlerr.New(3902)
	case t.doomed:
		return sqlerr.New(3930)
	case t.count > 1:
		t.count--
		return nil
	}
	old := t.descriptor()
	tx := t.tx
	t.tx, t.count, t.name = nil, 0, ""
	if _, err := tx.Commit(); err != nil {
		tx.Rollback()
		return err
	}
	if sink == nil || t.quiet {
		return nil
	}
	return sink.Env(EnvCommitTran, nil, old)
}

// rollback undoes the whole transaction, if there is one.
func (t *tranState) rollback(sink Sink) error {
	if t.count == 0 {
		return nil
	}
	old := t.descriptor()
	t.tx.Rollback()
	t.tx, t.count, t.name, t.doomed = nil, 0, "", false
	if sink == nil || t.quiet {
		return nil
	}
	return sink.Env(EnvRollbackTran, nil, old)
}

// rollbackTo is ROLLBACK TRAN name: a savepoint, or the whole transaction by its name (6401).
func (t *tranState) rollbackTo(sink Sink, name string) error {
	if t.count == 0 {
		return sqlerr.New(3903)
	}
	if name == "" || name == t.name {
		return t.rollback(sink)
	}
	if t.doomed {
		return sqlerr.New(3931)
	}
	return t.tx.RollbackTo(name)
}

func (s *Session) rollbackAll() {
	if s.tran.auto != nil { // of a statement that a fault of the stand-in has ended
		s.tran.auto.Rollback()
		s.tran.auto = nil
	}
	if s.tran.count > 0 {
		s.tran.tx.Rollback()
		s.tran.tx, s.tran.count, s.tran.name, s.tran.doomed = nil, 0, "", false
	}
}

// TranCount is @@TRANCOUNT.
func (s *Session) TranCount() int { return s.tran.count }

// TranDescriptor identifies the open transaction in ENVCHANGE and ALL_HEADERS; 0 without one.
func (s *Session) TranDescriptor() uint64 {
	if s.tran.tx != nil {
		return s.tran.tx.ID
	}
	return 0
}

// BeginTran is a transaction manager request (MS-TDS 2.2.6.9); iso 0 keeps the session's level. Unlike the statement it
// tells no sink: the server answers the request itself.
func (s *Session) BeginTran(_ context.Context, iso storage.Isolation, name string) error {
	if iso != 0 {
		s.opt.Isolation = iso
	}
	return s.tran.begin(nil, name, iso)
}

// CommitTran commits as COMMIT does.
func (s *Session) CommitTran(_ context.Context) error { return s.tran.commit(nil) }

// RollbackTran rolls back to a savepoint, or everything if name is empty.
func (s *Session) RollbackTran(_ context.Context, name string) error {
	return s.tran.rollbackTo(nil, name)
}

// SaveTran sets a savepoint.
func (s *Session) SaveTran(_ context.Context, name string) error {
	if s.tran.count == 0 {
		return sqlerr.New(628)
	}
	s.tran.tx.Savepoint(name)
	return nil
}

// tranName is the name in a transaction statement: an identifier, or a variable with it.
func (r *run) tranName(n *ast.IdentifierOrValueExpression) (string, error) {
	switch {
	case n == nil:
		return "", nil
	case n.ValueExpression != nil:
		v, err := r.evalTo(n.ValueExpression, nvarcharType(32, nil))
		if err != nil || v.IsNull() {
			return "", err
		}
		return v.Str(), nil
	case n.Identifier != nil:
		return n.Identifier.Value, nil
	}
	return n.Value, nil
}

func (r *run) beginTran(x *ast.BeginTransactionStatement) error {
	if x.Distributed {
		return notSupported("BEGIN DISTRIBUTED TRAN")
	}
	name, err := r.tranName(x.Name)
	if err != nil {
		return err
	}
	if err := r.s.tran.begin(r.sink, name, 0); err != nil {
		return err
	}
	return r.done(CmdBeginTran, 0, false)
}

func (r *run) commitTran() error {
	if err := r.s.tran.commit(r.sink); err != nil {
		return err
	}
	return r.done(CmdCommit, 0, false)
}

func (r *run) rollbackTran(x *ast.RollbackTransactionStatement) error {
	name, err := r.tranName(x.Name)
	if err != nil {
		return err
	}
	if err := r.s.tran.rollbackTo(r.sink, name); err != nil {
		return err
	}
	return r.done(CmdRollback, 0, false)
}

func (r *run) saveTran(x *ast.SaveTransactionStatement) error {
	name, err := r.tranName(x.Name)
	if err != nil {
		return err
	}
	if r.s.tran.doomed {
		return sqlerr.New(3931)
	}
	if err := r.s.SaveTran(r.ctx, name); err != nil {
		return err
	}
	return r.done(CmdOther, 0, false)
}
