package capture

import (
	"cmp"
	"slices"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
)

// Table is a source table with its capture instances.
type Table struct {
	Name catalog.Name
	id   int32 // source_object_id: it outlives a rename

	instances []catalog.Instance // by age; the ones that the capture job has not handled yet last
}

// key is the name under which the table's position is stored.
func (t *Table) key() string { return t.Name.String() }

// group turns the rows of cdc.change_tables into tables. Instances whose source table is not visible are left out and
// returned, so that they can be complained of.
func group(instances []catalog.Instance, m *catalog.Matcher) (tables []*Table, hidden []string) {
	byID := map[int32]*Table{}
	for _, in := range instances {
		if in.Source.Object == "" {
			hidden = append(hidden, in.Capture)
			continue
		}
		if !m.Match(in.Source) {
			continue
		}
		t := byID[in.SourceID]
		if t == nil {
			t = &Table{Name: in.Source, id: in.SourceID}
			byID[in.SourceID] = t
			tables = append(tables, t)
		}
		t.instances = append(t.instances, in)
	}
	for _, t := range tables {
		slices.SortStableFunc(t.instances, func(a, b catalog.Instance) int {
			if a.Started() != b.Started() {
				if a.Started() {
					return -1
				}
				return 1
			}
			// Cleanup of one of them raises its start, maybe above that of a newer one.
			return cmp.Or(a.CreateDate.Compare(b.CreateDate), a.StartLSN.Compare(b.StartLSN))
		})
	}
	return tables, hidden
}

// stretch is what is read from one instance: changes after a position, up to an LSN. switches says that the next stretch is
// another instance's.
type stretch struct {
	instance *catalog.Instance
	high     checkpoint.LSN
	switches bool
}

// stretch chooses the instance that holds what follows pos, and cuts at the start of a newer one: a newer instance has the
// columns that were added, and both have the changes of the time in which both exist.
//
// ok is false when no instance has been started by the capture job. An instance whose start is above pos is chosen all the
// same: that is a gap, and the reader of the change table says so with the numbers.
func (t *Table) stretch(pos checkpoint.Position, target checkpoint.LSN) (s stretch, ok bool) {
	started := t.instances
	for len(started) > 0 && !started[len(started)-1].Started() {
		started = started[:len(started)-1]
	}
	if len(started) == 0 {
		return stretch{}, false
	}
	// The newest instance that begins at or before what comes next.
	at := 0
	for i := range started {
		if request.Before(started[i].StartLSN).Compare(pos.LSN) < 0 || request.Before(started[i].StartLSN) == pos.LSN && pos.Done {
			at = i
		}
	}
	s = stretch{instance: &started[at], high: target}
	if at+1 < len(started) {
		if cut := request.Before(started[at+1].StartLSN); cut.Compare(target) <= 0 {
			s.high, s.switches = cut, true
		}
	}
	return s, true
}

// newest is the newest instance that the capture job has handled, "" when there is none: it has the columns that a snapshot
// should have.
func (t *Table) newest() string {
	name := ""
	for i := range t.instances {
		if t.instances[i].Started() {
			name = t.instances[i].Capture
		}
	}
	return name
}

// start is the low end of what an instance retains.
func (t *Table) start(capture string) (checkpoint.LSN, bool) {
	for i := range t.instances {
		if t.instances[i].Capture == capture {
			return t.instances[i].StartLSN, true
		}
	}
	return checkpoint.LSN{}, false
}

// earliest is the position before the first change that is retained, of the instance that retains most.
func (t *Table) earliest() (pos checkpoint.Position, ok bool) {
	for i := range t.instances {
		in := &t.instances[i]
		if start := request.Before(in.StartLSN); in.Started() && (!ok || start.Compare(pos.LSN) < 0) {
			pos, ok = checkpoint.Position{Instance: in.Capture, LSN: start, Done: true}, true
		}
	}
	return pos, ok
}
