package server

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Kinds of Event.
const (
	KindConnect     = "connect"
	KindLogin       = "login"
	KindBatch       = "batch"
	KindRPC         = "rpc"
	KindBulk        = "bulk"
	KindTransaction = "transaction"
	KindAttention   = "attention"
	KindStatement   = "statement"
)

// Event is one thing that happens on a connection, as a hook sees it.
type Event struct {
	Conn, SPID                 int
	App, Host, Login, Database string
	Replica                    string
	Kind                       string
	Text                       string
	Message                    int
}

// Verdict is what a hook wants done with an event. The zero Verdict lets it pass.
type Verdict struct {
	// Drop leaves the message unanswered.
	Drop bool
	// Cut closes the connection, after CutAfter bytes of the answer.
	Cut      bool
	CutAfter int64
	// Err is answered instead of running the message or the statement.
	Err *sqlerr.Error
	// After is called when the event has been handled.
	After func()
}

// Hook decides on events. It runs on the connection's goroutine, may block, and should return when ctx ends.
type Hook func(ctx context.Context, e Event) Verdict

// event fills in what is known of the connection.
func (c *conn) event(kind, text string) Event {
	e := Event{
		Conn: c.id, SPID: c.spid(), App: c.app, Host: c.host, Login: c.login, Replica: c.ep.Name,
		Kind: kind, Text: text, Message: c.messages,
	}
	if c.session != nil {
		e.Database = c.session.Database().Name()
	} else {
		e.Database = c.database
	}
	return e
}

// ask asks the hook; the connection's own limits are set from its verdict.
func (c *conn) ask(ctx context.Context, kind, text string) Verdict {
	if c.srv.cfg.Hook == nil {
		return Verdict{}
	}
	v := c.srv.cfg.Hook(ctx, c.event(kind, text))
	if v.Cut {
		c.cutAfter = v.CutAfter
		c.cutting = true
		if v.CutAfter <= 0 {
			c.close()
		}
	}
	return v
}
