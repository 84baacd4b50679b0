package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Env is the environment that the session's conversions and functions run in.
func (s *Session) Env() *value.Env { return &s.env }

// hooked runs a statement inside Instance.Before and what that returned.
func (r *run) hooked(st ast.Statement) (flow, error) {
	before := r.s.in.Before
	if before == nil {
		return r.statement(st)
	}
	after, err := before(r.s.spid, r.statementText())
	if after != nil {
		defer after()
	}
	if err != nil {
		return flowNext, err
	}
	return r.statement(st)
}
