package exec

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Batch runs a SQL batch (MS-TDS 2.2.6.7 SQLBatch). SQL errors go to the sink; the error is that of the sink or of ctx.
func (s *Session) Batch(ctx context.Context, text string, sink Sink) error {
	ctx, end := s.begin(ctx)
	defer end()
	b, err := s.in.parsed.get(text)
	r := s.newRun(ctx, sink)
	if err != nil {
		return r.report(err)
	}
	// All batches of a session are one scope for SCOPE_IDENTITY; a text of sp_executesql is not.
	r.scopeIdentity = s.batchIdentity
	defer func() { s.batchIdentity = r.scopeIdentity }()
	return r.top(b)
}

// ExecuteSQL runs sp_executesql: params are the declared and given parameters; the output ones come back.
func (s *Session) ExecuteSQL(ctx context.Context, text string, params []Param, sink Sink) ([]Param, error) {
	ctx, end := s.begin(ctx)
	defer end()
	r := s.newRun(ctx, sink)
	return r.dynamic(text, params)
}

// Call runs a procedure by name (RPC): one of the database or one of the server.
func (s *Session) Call(ctx context.Context, name string, params []Param, sink Sink) (int32, []Param, error) {
	ctx, end := s.begin(ctx)
	defer end()
	r := s.newRun(ctx, sink)
	return r.remoteCall(name, params)
}

// prepared is a statement of sp_prepare.
type prepared struct {
	text  string
	decls []Param
}

// Prepare keeps a statement and its parameter declarations ("@p0 int, @p1 nvarchar(20)") under a handle.
func (s *Session) Prepare(ctx context.Context, decl, text string) (int32, error) {
	ps, err := s.ParseParams(decl)
	if err != nil {
		return 0, err
	}
	if _, err := s.in.parsed.get(text); err != nil {
		return 0, err
	}
	s.lastH++
	s.handles[s.lastH] = &prepared{text: text, decls: ps}
	return s.lastH, nil
}

// Execute runs a prepared statement; args are matched to its declarations by name, else by position.
func (s *Session) Execute(ctx context.Context, handle int32, args []Param, sink Sink) ([]Param, error) {
	p := s.handles[handle]
	if p == nil {
		return nil, sink.Message(sqlerr.New(8179, handle))
	}
	params, err := BindParams(&s.env, p.decls, args)
	if err != nil {
		ctx, end := s.begin(ctx)
		defer end()
		return nil, s.newRun(ctx, sink).report(err)
	}
	return s.ExecuteSQL(ctx, p.text, params, sink)
}

// Unprepare forgets a handle; 8179 if there is none.
func (s *Session) Unprepare(handle int32) error {
	if s.handles[handle] == nil {
		return sqlerr.New(8179, handle)
	}
	delete(s.handles, handle)
	return nil
}

// ParseParams reads a parameter declaration list.
func (s *Session) ParseParams(decl string) ([]Param, error) { return s.parseDecls(decl) }

// BindParams gives the declared parameters their values: args with a name by name, the others in order. Values are
// converted to the declared types. 8178 for a parameter without a value, 8144 and 8145 for what is not declared.
func BindParams(env *value.Env, decls, args []Param) ([]Param, error) {
	out := make([]Param, len(decls))
	copy(out, decls)
	given := make([]bool, len(decls))
	for i, a := range args {
		at := -1
		if a.Name == "" {
			at = i
		} else {
			for j := range decls {
				if sameName(decls[j].Name, a.Name) {
					at = j
				}
			}
			if at < 0 {
				return nil, sqlerr.New(8145, a.Name, "")
			}
		}
		if at >= len(decls) {
			return nil, sqlerr.New(8144, "")
		}
		v, err := value.AssignVar(env, a.Value, a.Type, decls[at].Type)
		if err != nil {
			return nil, err
		}
		out[at].Value, given[at] = v, true
		out[at].Output = decls[at].Output && a.Output
	}
	for i := range decls {
		if !given[i] {
			return nil, sqlerr.New(8178, "", decls[i].Name)
		}
	}
	return out, nil
}
