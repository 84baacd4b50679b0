package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/mssqlcdc/internal/diagnose"
)

// examine makes all checks of all sources, side by side, so that one that does not answer keeps no other from being examined.
func examine(ctx context.Context, patients []*patient, timeout time.Duration) *report {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &report{OK: true, Inputs: make([]*examined, len(patients))}
	var all sync.WaitGroup
	for i, p := range patients {
		all.Go(func() {
			found := diagnose.Run(bounded, diagnose.Options{Session: p.Session, Include: p.Include, Exclude: p.Exclude, Signals: p.Signals})
			r.Inputs[i] = examinedInput(p.name, found)
			switch {
			case ctx.Err() != nil:
				r.Inputs[i].cut("The checks were interrupted.")
			case bounded.Err() != nil:
				r.Inputs[i].cut(fmt.Sprintf("The checks did not come to an end within %s; --timeout gives them longer.", timeout))
			}
		})
	}
	all.Wait()
	for _, in := range r.Inputs {
		r.OK = r.OK && in.OK
	}
	return r
}

// cut says that there may be more to find. What is not known to be well is an error.
func (in *examined) cut(why string) {
	in.OK = false
	in.Findings = slices.Insert(in.Findings, 0, finding{Check: "timeout", Severity: diagnose.Error.String(), Message: why})
}
