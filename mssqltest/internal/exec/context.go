package exec

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
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

// Catalog is where the session sees the objects of a database: a replica's state, or the present one.
func (c *Context) Catalog(db *storage.Database) storage.Catalog { return c.run.catalog(db) }

// Object finds an object of c.DB by the parts of a name; temporary tables are those of the session.
func (c *Context) Object(schema, name string) storage.Object { return c.run.object(c.DB, schema, name) }

// Permit is 229 unless the session may do perm to an object.
func (c *Context) Permit(h *storage.ObjectHeader, perm string) error {
	if c.Session.HasPermission(c.DB, ClassObject, h, perm) {
		return nil
	}
	return sqlerr.New(229, perm, h.Name, c.DB.Name(), h.Schema)
}

// Atomic runs fn as one statement of the session's transaction, or of one of its own that is committed when fn succeeds.
func (c *Context) Atomic(fn func(tx *storage.Tx) error) error {
	return c.run.change(func() error {
		saved := c.Tx
		c.Tx = c.run.stmt.tx
		defer func() { c.Tx = saved }()
		return fn(c.Tx)
	})
}

// Exec runs T-SQL in c.DB; its result sets and messages go to the sink of the procedure, its errors come back.
func (c *Context) Exec(text string, params ...Param) error {
	_, err := c.exec(text, params, c.Sink)
	return err
}

// Query runs T-SQL in c.DB and returns the rows of its first result set.
func (c *Context) Query(text string, params ...Param) ([][]value.Value, error) {
	sink := &capture{to: discard{}}
	if _, err := c.exec(text, params, sink); err != nil {
		return nil, err
	}
	if len(sink.sets) == 0 {
		return nil, nil
	}
	return sink.sets[0], nil
}

func (c *Context) exec(text string, params []Param, sink Sink) ([]Param, error) {
	var out []Param
	err := c.run.inner(func(in *run) error {
		s := c.Session
		if s.db != c.DB {
			s.setDB(c.DB)
		}
		in.try = 1 // errors come back instead of being reported
		in.proc = "sp"
		var err error
		out, err = in.dynamicIn(text, params)
		return err
	}, sink)
	return out, err
}

// Send gives a result set to the procedure's sink.
func (c *Context) Send(cols []Column, rows [][]value.Value) error {
	if err := c.Sink.Columns(cols); err != nil {
		return err
	}
	for _, row := range rows {
		if err := c.Sink.Row(row); err != nil {
			return err
		}
	}
	c.Session.rowCount = int64(len(rows))
	return c.Sink.DoneStatement(CmdSelect, int64(len(rows)), !c.Session.opt.NoCount)
}

// Print sends a message of class 0, as PRINT does.
func (c *Context) Print(text string) error {
	return c.Sink.Message(&sqlerr.Error{State: 1, Message: text, Proc: c.run.proc, Line: 1})
}
