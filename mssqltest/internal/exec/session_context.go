package exec

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// contextValue is a value of sp_set_session_context.
type contextValue struct {
	val      value.Value
	readOnly bool
}

// SetContext keeps a value for SESSION_CONTEXT until the session is reset: 15664 for a key that was set read-only.
func (s *Session) SetContext(key string, v value.Value, readOnly bool) error {
	k := strings.ToLower(key)
	if s.context[k].readOnly {
		return sqlerr.New(15664, key)
	}
	if s.context == nil {
		s.context = map[string]contextValue{}
	}
	s.context[k] = contextValue{v, readOnly}
	return nil
}

// sessionContext is SESSION_CONTEXT.
func (r *run) sessionContext(args []value.Value) (value.Value, error) {
	return r.s.context[strings.ToLower(args[0].Str())].val, nil
}

// formatMessageCall is FORMATMESSAGE with a text.
func (r *run) formatMessageCall(args []value.Value) (value.Value, error) {
	if args[0].IsNull() {
		return value.Value{}, nil
	}
	s, err := formatMessage(args[0].Str(), args[1:])
	if err != nil {
		return value.Value{}, nil
	}
	return value.NewNVarChar(s), nil
}
