package server

import (
	"bytes"
	"encoding/binary"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// sink writes what a session produces as tokens of the reply at hand. It implements exec.Sink.
type sink struct {
	c       *conn
	r       *reply
	rpc     bool // statements of a remote call end with DONEINPROC
	failed  bool // an error has been sent and no DONE has said so yet
	lastErr int32
	metas   []tds.ColumnMeta
	cells   []encoder
	meta    []byte // of the result set, as it was sent
	shape   string // of its rows as they are stored, once one was offered
}

var (
	_ exec.Sink       = (*sink)(nil)
	_ exec.StoredRows = (*sink)(nil)
)

// Columns begins a result set.
func (s *sink) Columns(cols []exec.Column) error {
	s.metas, s.cells = s.metas[:0], s.cells[:0]
	for i := range cols {
		m := columnMeta(&cols[i], s.c.utf8)
		s.metas = append(s.metas, m)
		s.cells = append(s.cells, newEncoder(cols[i].Type, &m.Info, s.c.utf8))
	}
	s.r.token()
	meta := tds.ColMetaData{Columns: s.metas}
	s.meta, s.shape = meta.Append(s.meta[:0]), ""
	s.r.body = append(s.r.body, s.meta...)
	return s.r.spill()
}

// StoredRow sends a row of a table. One that is read for the second time is kept as it is sent.
func (s *sink) StoredRow(row *storage.Row, cols []int) (bool, error) {
	if s.shape == "" {
		shape := s.meta
		for _, c := range cols {
			shape = binary.AppendUvarint(shape, uint64(c))
		}
		s.shape = string(shape)
	}
	kept, seen := row.Sent(s.shape)
	switch {
	case kept != nil:
		s.r.body = append(s.r.body, kept...)
	case seen:
		at := len(s.r.body)
		b := append(s.r.body, byte(tds.TokenRow))
		for i, enc := range s.cells {
			b = enc(b, row.Vals[cols[i]])
		}
		s.r.body = b
		row.Keep(s.shape, bytes.Clone(b[at:]))
	default:
		return false, nil
	}
	return true, s.r.spill()
}

// Row sends one row ([MS-TDS] 2.2.7.19 ROW).
func (s *sink) Row(vals []value.Value) error {
	b := append(s.r.body, byte(tds.TokenRow))
	for i, enc := range s.cells {
		b = enc(b, vals[i])
	}
	s.r.body = b
	return s.r.spill()
}

// DoneStatement ends a statement.
func (s *sink) DoneStatement(cmd uint16, count int64, hasCount bool) error {
	d := tds.Done{Token: tds.TokenDone, CurCmd: cmd}
	if s.rpc || s.c.session.NestLevel() > 0 {
		d.Token = tds.TokenDoneInProc
	}
	if hasCount {
		d.Status |= tds.DoneCount
		d.RowCount = uint64(count)
	}
	s.done(d)
	return s.r.spill()
}

// done sends a DONE of any kind, with the error bit if something failed since the last one.
func (s *sink) done(d tds.Done) {
	if s.failed {
		d.Status |= tds.DoneError
		s.failed = false
	}
	s.r.done(d)
}

// Message sends an ERROR or INFO; severity 20 and above ends the connection after the answer.
func (s *sink) Message(e *sqlerr.Error) error {
	m := s.c.message(e)
	s.r.token()
	s.r.body = m.Append(s.r.body)
	if !m.Info {
		s.failed, s.lastErr = true, e.Number
		if e.Class >= 20 {
			s.c.closing = true
		}
	}
	return s.r.spill()
}

// Env sends an ENVCHANGE.
func (s *sink) Env(kind int, newValue, oldValue []byte) error {
	e := tds.EnvChange{Type: tds.EnvType(kind)}
	switch kind {
	case exec.EnvDatabase, exec.EnvLanguage:
		e.New, e.Old = string(newValue), string(oldValue)
	default:
		e.NewBytes, e.OldBytes = newValue, oldValue
	}
	s.r.token()
	s.r.body = e.Append(s.r.body)
	return s.r.spill()
}

// Return ends a procedure that the batch called. Inside a remote call only the outermost procedure has a status.
func (s *sink) Return(status int32) error {
	if s.rpc {
		return nil
	}
	s.r.token()
	s.r.body = tds.ReturnStatus(status).Append(s.r.body)
	s.done(tds.Done{Token: tds.TokenDoneProc, CurCmd: exec.CmdExec})
	return s.r.spill()
}

// endBatch makes sure that the reply ends with a DONE that tells of the last error.
func (s *sink) endBatch() {
	if s.failed || !s.r.hold {
		s.done(tds.Done{Token: tds.TokenDone, CurCmd: exec.CmdOther})
	}
}

// message is an ERROR or INFO token.
func (c *conn) message(e *sqlerr.Error) *tds.ServerMessage {
	return &tds.ServerMessage{
		Info: e.Class <= 10, Number: e.Number, State: max(e.State, 1), Class: e.Class, Message: e.Message,
		Server: c.srv.cfg.Instance.ServerName, Proc: e.Proc, Line: uint32(max(e.Line, 0)),
	}
}

func (c *conn) info(number int32, state uint8, text string) *tds.ServerMessage {
	return c.message(&sqlerr.Error{Number: number, State: state, Class: 0, Message: text, Line: 1})
}
