package exec

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Context is what the server's own views, procedures and functions run in.
type Context struct {
	Session *Session
	// DB is the database that the object was named in: that of a three-part name, else the session's.
	DB *storage.Database
	// Tx is the transaction of the statement; in a procedure it is nil unless the session has one open (see Atomic).
	Tx   *storage.Tx
	Env  *value.Env
	Sink Sink

	ctx context.Context
	run *run
}

// Context is the context of the request; it ends with an attention or the connection.
func (c *Context) Context() context.Context { return c.ctx }

// Instance is the session's instance.
func (c *Context) Instance() *Instance { return c.Session.in }
