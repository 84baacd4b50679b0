package server

import (
	"errors"
	"io"
	"log"
	"runtime/debug"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// requestLimit bounds what of a request is held in memory at once. A bulk load is not held; it streams.
const requestLimit = 128 << 20

// handle works off one message; false ends the connection.
func (c *conn) handle(req *request) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
			ok = false
		}
	}()
	c.messages++
	if c.session.Killed() {
		return false
	}
	s := &sink{c: c, r: &c.reply}
	c.reply.begin()
	c.reset(req.status)
	var after func()
	var err error
	switch req.typ {
	case tds.PacketSQLBatch:
		after, err = c.batch(req, s)
	case tds.PacketRPC:
		after, err = c.rpc(req, s)
	case tds.PacketTransMgr:
		after, err = c.transaction(req, s)
	case tds.PacketBulkLoad:
		after, err = c.bulkRows(req, s)
	case tds.PacketAttention:
		// Nothing was running any more; the client waits for its acknowledgement all the same.
		v := c.ask(req.ctx, KindAttention, "")
		if after = v.After; v.Drop {
			err = errDropped
		} else {
			c.reply.done(tds.Done{Token: tds.TokenDone, Status: tds.DoneAttn})
		}
	default:
		return false
	}
	return c.finish(req, s, after, err)
}

// panicked ends a connection whose request met a fault of the stand-in, as a server ends one after an exception: the others
// go on.
func (c *conn) panicked(v any) {
	log.Printf("mssqltest: connection %d: panic: %v\n%s", c.id, v, debug.Stack())
	defer func() { _ = recover() }()
	c.w.Reset(c)
	c.reply.begin()
	s := &sink{c: c, r: &c.reply}
	if s.Message(sqlerr.Newf(17310, 20, "mssqltest met a fault of its own and ends the connection: %v", v)) == nil {
		s.endBatch()
		_ = c.reply.finish()
	}
}

// errDropped leaves a message without an answer.
var errDropped = errors.New("answer dropped by a hook")

// finish ends the answer to a request, acknowledging the attention that it got.
func (c *conn) finish(req *request, s *sink, after func(), err error) bool {
	attn := c.requests.end()
	if c.ctx.Err() != nil || c.reply.err != nil {
		return false
	}
	switch {
	case err == nil:
	case errors.Is(err, errDropped):
		// What the reply gathered so far must not go out with the next one.
		c.w.Reset(c)
		c.bulk = nil
		return !attn || c.acknowledge()
	case errors.Is(err, tds.ErrIgnored):
		c.reply.done(tds.Done{Token: tds.TokenDone, Status: tds.DoneError})
	case attn:
	case c.closing:
		if s.rpc { // a call's answer never ends with the DONEINPROC of a statement
			s.failed = true
			s.done(tds.Done{Token: tds.TokenDoneProc, CurCmd: exec.CmdExec})
		}
	default:
		if c.session.Killed() {
			return false
		}
		var se *sqlerr.Error
		if !errors.As(err, &se) {
			// The client broke the protocol: say so and hang up, as a server does.
			se = sqlerr.Newf(17803, 20, "The incoming tabular data stream (TDS) protocol stream is incorrect: %v", err)
		}
		if s.Message(se) != nil {
			return false
		}
		s.endBatch()
	}
	if after != nil {
		after()
	}
	if !c.reply.hold {
		s.endBatch()
	}
	if c.reply.finish() != nil || c.closing {
		return false
	}
	return !attn || c.acknowledge()
}

// acknowledge answers an attention. It is a message of its own after the one that was cut short: tedious waits for both.
func (c *conn) acknowledge() bool {
	c.reply.begin()
	c.reply.done(tds.Done{Token: tds.TokenDone, Status: tds.DoneAttn})
	return c.reply.finish() == nil
}

// reset does what the RESETCONNECTION bits of a request's first packet ask for ([MS-TDS] 2.2.3.1.2 Status).
func (c *conn) reset(status tds.Status) {
	if status&(tds.StatusReset|tds.StatusResetSkipTran) == 0 {
		return
	}
	c.bulk = nil
	c.session.Reset(c.ctx, status&tds.StatusResetSkipTran != 0)
	c.reply.token()
	c.reply.body = (&tds.EnvChange{Type: tds.EnvResetConnDone}).Append(c.reply.body)
}

// read takes a request's message to its end.
func (req *request) read() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(req.body, requestLimit+1))
	if err == nil && len(b) > requestLimit {
		err = errors.New("reading request: larger than 128 MiB")
	}
	return b, err
}

// admit asks the hook about a message. With an error to answer it is already in the reply, and the message is done.
func (c *conn) admit(req *request, s *sink, kind, text string) (after func(), done bool, err error) {
	v := c.ask(req.ctx, kind, text)
	switch {
	case c.ctx.Err() != nil:
		return nil, true, c.ctx.Err()
	case v.Drop:
		return nil, true, errDropped
	case v.Err != nil:
		if v.Err.DoomsTran && c.session.TranCount() > 0 {
			undo := func() error { return c.session.RollbackTran(req.ctx, "") }
			if err := c.traced(s, tds.EnvRollbackTran, undo); err != nil {
				return v.After, true, report(s, err)
			}
		}
		return v.After, true, s.Message(v.Err)
	}
	return v.After, false, nil
}
