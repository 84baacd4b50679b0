package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/mssqlcdc/internal/diagnose"
)

// examine makes all checks of all sources and targets, side by side, so that one that does not answer keeps no other from being examined.
func examine(ctx context.Context, patients []*patient, timeout time.Duration) *report {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &report{OK: true, Inputs: []*examined{}}
	found := make([]*examined, len(patients))
	var all sync.WaitGroup
	for i, p := range patients {
		all.Go(func() {
			found[i] = examinedPatient(p, p.examine(bounded))
			switch {
			case ctx.Err() != nil:
				found[i].cut("The checks were interrupted.")
			case bounded.Err() != nil:
				found[i].cut(fmt.Sprintf("The checks did not come to an end within %s; --timeout gives them longer.", timeout))
			}
		})
	}
	all.Wait()
	for i, p := range patients {
		r.OK = r.OK && found[i].OK
		if p.target != nil {
			r.Outputs = append(r.Outputs, found[i])
		} else {
			r.Inputs = append(r.Inputs, found[i])
		}
	}
	return r
}

// cut says that there may be more to find. What is not known to be well is an error.
func (in *examined) cut(why string) {
	in.OK = false
	in.Findings = slices.Insert(in.Findings, 0, finding{Check: "timeout", Severity: diagnose.Error.String(), Message: why})
}
