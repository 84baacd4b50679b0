package server

import (
	"fmt"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// isolations maps the isolation levels of a begin request; 0 leaves the session's.
var isolations = map[tds.Isolation]storage.Isolation{
	tds.IsolationReadUncommitted: storage.ReadUncommitted, tds.IsolationReadCommitted: storage.ReadCommitted,
	tds.IsolationRepeatableRead: storage.RepeatableRead, tds.IsolationSerializable: storage.Serializable,
	tds.IsolationSnapshot: storage.Snapshot,
}

// transaction serves a transaction manager request ([MS-TDS] 2.2.6.9 Transaction Manager Request).
func (c *conn) transaction(req *request, s *sink) (after func(), err error) {
	body, err := req.read()
	if err != nil {
		return nil, err
	}
	in, err := tds.ParseTransMgr(body)
	if err != nil {
		return nil, err
	}
	after, done, err := c.admit(req, s, KindTransaction, fmt.Sprintf("%d %s", in.Type, in.Name))
	if done {
		s.endBatch()
		return after, err
	}
	x := c.session
	switch in.Type {
	case tds.TMBegin:
		err = c.traced(s, 0, func() error { return x.BeginTran(req.ctx, isolations[in.Isolation], in.Name) })
	case tds.TMCommit:
		err = c.traced(s, tds.EnvCommitTran, func() error { return x.CommitTran(req.ctx) })
	case tds.TMRollback:
		err = c.traced(s, tds.EnvRollbackTran, func() error { return x.RollbackTran(req.ctx, in.Name) })
	case tds.TMSave:
		err = x.SaveTran(req.ctx, in.Name)
	default:
		err = sqlerr.Newf(8522, 16, "mssqltest has no distributed transactions: request %d is not supported.", in.Type)
	}
	if err == nil && in.BeginNext {
		err = c.traced(s, 0, func() error { return x.BeginTran(req.ctx, isolations[in.NextIsolation], in.NextName) })
	}
	if err = report(s, err); err == nil {
		s.endBatch()
	}
	return after, err
}

// traced runs f and tells the client by ENVCHANGE which transaction it ended, by a token of the type ended, and which it began.
func (c *conn) traced(s *sink, ended tds.EnvType, f func() error) error {
	before := c.session.TranDescriptor()
	err := f()
	now := c.session.TranDescriptor()
	if now == before {
		return err
	}
	if before != 0 {
		e := tds.EnvTransaction(ended, before)
		s.r.body = e.Append(s.r.body)
	}
	if now != 0 {
		e := tds.EnvTransaction(tds.EnvBeginTran, now)
		s.r.body = e.Append(s.r.body)
	}
	return err
}
