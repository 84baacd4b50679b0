package server

import (
	"context"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// call is one procedure call of an RPC message.
type call struct {
	name   string
	params []exec.Param
	status int32
	// out are the output parameters in the order in which they are returned, with their place among params.
	out     []exec.Param
	ordinal []int
}

// procedures are the calls that the server handles itself; every other name is the session's.
var procedures = map[string]func(*conn, context.Context, *call, *sink) error{
	"sp_executesql": (*conn).spExecuteSQL,
	"sp_prepare":    (*conn).spPrepare,
	"sp_execute":    (*conn).spExecute,
	"sp_prepexec":   (*conn).spPrepExec,
	"sp_unprepare":  (*conn).spUnprepare,
	"sp_reset_connection": func(c *conn, ctx context.Context, _ *call, _ *sink) error {
		c.session.Reset(ctx, false)
		return nil
	},
}

// rpc runs the calls of an RPC message, each answered by its own DONEPROC.
func (c *conn) rpc(req *request, s *sink) (after func(), err error) {
	body, err := req.read()
	if err != nil {
		return nil, err
	}
	in, err := tds.ParseRPC(body)
	if err != nil {
		return nil, err
	}
	calls := make([]*call, len(in.Calls))
	for i := range in.Calls {
		if calls[i], err = newCall(&in.Calls[i]); err != nil {
			return nil, err
		}
	}
	s.rpc = true
	after, done, err := c.admit(req, s, KindRPC, describe(calls))
	if done {
		s.done(tds.Done{Token: tds.TokenDoneProc, CurCmd: exec.CmdExec})
		return after, err
	}
	c.bulk = nil
	for _, cl := range calls {
		if err := c.call(req.ctx, cl, s); err != nil {
			return after, err
		}
		if c.closing {
			break
		}
	}
	return after, nil
}

// call runs one call and writes the end of its answer: RETURNSTATUS, RETURNVALUEs, DONEPROC.
func (c *conn) call(ctx context.Context, cl *call, s *sink) error {
	s.lastErr = 0
	var err error
	base := strings.ToLower(cl.name[strings.LastIndexByte(cl.name, '.')+1:])
	switch f := procedures[base]; {
	case f != nil:
		err = f(c, ctx, cl, s)
	case strings.HasPrefix(base, "sp_cursor"), base == "sp_prepexecrpc":
		err = s.Message(sqlerr.Newf(16999, 16, "mssqltest has no server cursors: %s is not supported.", base))
	default:
		var out []exec.Param
		cl.status, out, err = c.session.Call(ctx, cl.name, cl.params, s)
		cl.give(out)
	}
	if err != nil {
		return err
	}
	if s.lastErr != 0 && cl.status == 0 {
		cl.status = s.lastErr
	}
	s.r.token()
	s.r.body = tds.ReturnStatus(cl.status).Append(s.r.body)
	for i := range cl.out {
		s.r.body = c.returnValue(cl, i).Append(s.r.body)
	}
	s.done(tds.Done{Token: tds.TokenDoneProc, CurCmd: exec.CmdExec})
	return s.r.spill()
}

// give notes output parameters, finding their places among the parameters of the call.
func (cl *call) give(out []exec.Param) {
	for _, o := range out {
		at := -1
		for i, p := range cl.params {
			if p.Output && strings.EqualFold(p.Name, o.Name) {
				at = i
			}
		}
		if at < 0 { // unnamed: the next output parameter in order
			from := 0
			if n := len(cl.ordinal); n > 0 {
				from = cl.ordinal[n-1] + 1
			}
			for i := from; i < len(cl.params) && at < 0; i++ {
				if cl.params[i].Output {
					at = i
				}
			}
		}
		if at < 0 {
			continue
		}
		o.Name = cl.params[at].Name
		cl.out, cl.ordinal = append(cl.out, o), append(cl.ordinal, at)
	}
}

func (c *conn) returnValue(cl *call, i int) *tds.ReturnValue {
	p := cl.out[i]
	v := &tds.ReturnValue{Ordinal: uint16(cl.ordinal[i]), Name: p.Name, Status: tds.ReturnOutput, Info: typeInfo(p.Type, true, c.utf8)}
	v.Value = rawCell(p.Value, p.Type, c.utf8)
	return v
}

// text is the call's i-th parameter as a string; the statement's text comes as nvarchar, ntext or varchar.
func (cl *call) text(i int, what string) (string, error) {
	if i >= len(cl.params) {
		return "", sqlerr.Newf(201, 16, "Procedure or function '%s' expects parameter '%s', which was not supplied.", cl.name, what)
	}
	p := cl.params[i]
	if p.Value.IsNull() {
		return "", nil
	}
	if !p.Type.IsChar() {
		return "", sqlerr.Newf(214, 16, "Procedure expects parameter '%s' of type 'ntext/nchar/nvarchar'.", what)
	}
	return p.Value.Str(), nil
}

// handle is the call's i-th parameter as the number of a prepared statement.
func (cl *call) handle(i int) (int32, error) {
	if i >= len(cl.params) || cl.params[i].Value.IsNull() || !cl.params[i].Type.IsInteger() {
		return 0, sqlerr.Newf(214, 16, "Procedure expects parameter '@handle' of type 'int'.")
	}
	return int32(cl.params[i].Value.Int()), nil
}

func handleParam(h int32) exec.Param {
	return exec.Param{Type: value.Type{ID: value.Int}, Value: value.NewInt(value.Int, int64(h)), Output: true}
}

// newCall reads the values of a call's parameters.
func newCall(in *tds.RPCCall) (*call, error) {
	cl := &call{name: in.Name}
	if in.Name == "" {
		if cl.name = tds.ProcName(in.ProcID); cl.name == "" {
			return nil, fmt.Errorf("decoding RPC: unknown procedure number %d", in.ProcID)
		}
	}
	for i := range in.Params {
		p := &in.Params[i]
		v, ok := newDecoder(&p.Info)(p.Value)
		if !ok {
			return nil, sqlerr.Newf(8023, 16, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. "+
				"Parameter %d (\"%s\"): The supplied value is not a valid instance of data type %s.", i+1, p.Name, p.Info.Type)
		}
		cl.params = append(cl.params, exec.Param{
			Name: p.Name, Type: valueType(&p.Info), Value: v, Output: p.Status&tds.ParamByRef != 0, Default: p.Status&tds.ParamDefault != 0,
		})
	}
	return cl, nil
}

// describe is the text of an event: names, and what sp_executesql and its like run.
func describe(calls []*call) string {
	var b strings.Builder
	for i, cl := range calls {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cl.name)
		for _, p := range cl.params[:min(len(cl.params), 3)] {
			if p.Type.IsChar() && !p.Value.IsNull() {
				fmt.Fprintf(&b, " %s", p.Value.Str())
			}
		}
	}
	return b.String()
}
