package capture

import (
	"errors"
	"fmt"

	"example.com/mssqlcdc/changetable"
)

// setState tells of a change of state, once. A parked table is told of again when it is another kind of error that parks it.
func (w *worker) setState(s State, cause error) {
	kind := ""
	if s == Parked {
		kind = errorKind(cause)
	}
	w.flow.mu.Lock()
	changed := w.state != s || w.kind != kind
	w.state, w.kind = s, kind
	w.flow.mu.Unlock()
	if changed {
		w.flow.cfg.Observer.State(w.table.key(), s, cause)
	}
}

// valueKind is the errorKind of a value that cannot be represented.
var valueKind = fmt.Sprintf("%T", (*changetable.ValueError)(nil))

// errorKind is the type of the first error of a chain that says more than text.
func errorKind(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e.(type) { //nolint:errorlint // the chain is walked here
		case *changetable.BehindError, *changetable.GapError, *changetable.ForkError, *changetable.InstanceGoneError,
			*changetable.PermissionError, *changetable.ValueError:
			return fmt.Sprintf("%T", e)
		}
	}
	return "other"
}
