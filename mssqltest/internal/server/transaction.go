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

// transaction serves a transaction manager request ([MS-TDS] 2.2.6.9 Transaction Manager Request). The session tells
// of begun and ended transactions by Env, so that T-SQL and requests give the same ENVCHANGE tokens.
func (c *conn) transaction(req *request, s *sink) (after func(), err error) {
	body, err := req.read()
	if err != nil {
		return nil, err
	}
	in, err := tds.ParseTransMgr(body)
	if err != nil {
		return nil, err
	}
	after, done, err := c.admit(req, s, KindTransaction, fmt.Sprintf("%v %s", in.Type, in.Name))
	if done {
		s.endBatch()
		return after, err
	}
	switch in.Type {
	case tds.TMBegin:
		err = c.begin(req, s, in.Isolation, in.Name)
	case tds.TMCommit:
		err = c.session.CommitTran(req.ctx, s)
		if err == nil && !s.failed && in.BeginNext {
			err = c.begin(req, s, in.NextIsolation, in.NextName)
		}
	case tds.TMRollback:
		err = c.session.RollbackTran(req.ctx, in.Name, s)
		if err == nil && !s.failed && in.BeginNext {
			err = c.begin(req, s, in.NextIsolation, in.NextName)
		}
	case tds.TMSave:
		err = c.session.SaveTran(req.ctx, in.Name, s)
	default:
		err = s.Message(sqlerr.Newf(8522, 16, "mssqltest has no distributed transactions: request %d is not supported.", in.Type))
	}
	if err == nil {
		s.endBatch()
	}
	return after, err
}

func (c *conn) begin(req *request, s *sink, isolation tds.Isolation, name string) error {
	iso, ok := isolations[isolation]
	if !ok {
		iso = c.session.Options().Isolation
	}
	return c.session.BeginTran(req.ctx, iso, name, s)
}
