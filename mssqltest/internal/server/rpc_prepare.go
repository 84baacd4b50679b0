package server

import (
	"context"
	"errors"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// spExecuteSQL is sp_executesql @stmt, @params, values.
func (c *conn) spExecuteSQL(ctx context.Context, cl *call, s *sink) error {
	text, err := cl.text(0, "@statement")
	if err != nil {
		return report(s, err)
	}
	params, err := c.declared(cl, 1, 2)
	if err != nil {
		return report(s, err)
	}
	out, err := c.session.ExecuteSQL(ctx, text, params, s)
	cl.give(out)
	return err
}

// declared reads the parameter declarations at params[decl] and gives them the values from params[values] on.
func (c *conn) declared(cl *call, decl, values int) ([]exec.Param, error) {
	if decl >= len(cl.params) {
		return nil, nil
	}
	text, err := cl.text(decl, "@params")
	if err != nil {
		return nil, err
	}
	decls, err := c.session.ParseParams(text)
	if err != nil {
		return nil, err
	}
	return exec.BindParams(c.session.Env(), decls, cl.params[min(values, len(cl.params)):])
}

// spPrepare is sp_prepare @handle OUTPUT, @params, @stmt, @options.
func (c *conn) spPrepare(ctx context.Context, cl *call, s *sink) error {
	h, err := c.prepare(ctx, cl)
	if err != nil {
		return report(s, err)
	}
	cl.give([]exec.Param{handleParam(h)})
	return nil
}

func (c *conn) prepare(ctx context.Context, cl *call) (int32, error) {
	decl, err := cl.text(1, "@params")
	if err != nil {
		return 0, err
	}
	text, err := cl.text(2, "@stmt")
	if err != nil {
		return 0, err
	}
	return c.session.Prepare(ctx, decl, text)
}

// spExecute is sp_execute @handle, values.
func (c *conn) spExecute(ctx context.Context, cl *call, s *sink) error {
	h, err := cl.handle(0)
	if err != nil {
		return report(s, err)
	}
	out, err := c.session.Execute(ctx, h, cl.params[1:], s)
	cl.give(out)
	return err
}

// spPrepExec is sp_prepexec @handle OUTPUT, @params, @stmt, values: sp_prepare and sp_execute in one.
func (c *conn) spPrepExec(ctx context.Context, cl *call, s *sink) error {
	h, err := c.prepare(ctx, cl)
	if err != nil {
		return report(s, err)
	}
	cl.give([]exec.Param{handleParam(h)})
	out, err := c.session.Execute(ctx, h, cl.params[3:], s)
	cl.give(out)
	return err
}

// spUnprepare is sp_unprepare @handle.
func (c *conn) spUnprepare(_ context.Context, cl *call, s *sink) error {
	h, err := cl.handle(0)
	if err == nil {
		err = c.session.Unprepare(h)
	}
	if err != nil {
		return report(s, err)
	}
	return nil
}

// report sends a SQL error to the client; other errors are the caller's.
func report(s *sink, err error) error {
	var se *sqlerr.Error
	if err != nil && errors.As(err, &se) {
		return s.Message(se)
	}
	return err
}
