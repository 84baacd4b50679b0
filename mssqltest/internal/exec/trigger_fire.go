package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// firing is one event of a statement on one table, for which triggers run.
type firing struct {
	t       *target
	event   uint8
	changes []storage.Change
	count   int64 // @@ROWCOUNT at the start of the triggers
}

// triggerRun is what the statements of a running trigger see beyond those of a procedure.
type triggerRun struct {
	m                 *storage.Module
	event             uint8
	def               *storage.TableDef
	set               []bool // columns of SET; nil outside of UPDATE
	inserted, deleted *memTable
}

// triggers lists the enabled triggers of a table for any of the events, in the order in which they were made.
func (r *run) triggers(t *target, events uint8, instead bool) []*storage.Module {
	if t.t == nil {
		return nil
	}
	var out []*storage.Module
	for _, m := range r.catalog(t.db).Children(t.t.ID()) {
		if tg, ok := m.Parsed.(*trigger); ok && !tg.disabled && tg.instead == instead && tg.events&events != 0 {
			out = append(out, m)
		}
	}
	return out
}

func (r *run) hasTriggers(t *target, events uint8) bool {
	return len(r.triggers(t, events, false)) > 0 || len(r.triggers(t, events, true)) > 0
}

// changing makes the changes of a statement with all that follows from them: an INSTEAD OF trigger takes their place, or
// they are applied and checked against foreign keys, their OUTPUT rows are given, and the AFTER triggers run.
func (r *run) changing(t *target, events uint8, changes []storage.Change, verb string, output func() error) error {
	if done, err := r.insteadOf(t, events, changes); done || err != nil {
		return err
	}
	if err := t.apply(r, changes); err != nil {
		return err
	}
	if err := r.checkForeignKeys(t, changes, verb); err != nil {
		return err
	}
	if err := output(); err != nil {
		return err
	}
	return r.fireAfter(t, events, changes)
}

// insteadOf runs an INSTEAD OF trigger of the statement, unless the statement is that trigger's own.
func (r *run) insteadOf(t *target, events uint8, changes []storage.Change) (bool, error) {
	ms := r.triggers(t, events, true)
	if len(ms) == 0 || r.inTrigger(ms[0]) {
		return false, nil
	}
	if t.events != 0 {
		return false, notSupported("MERGE on a table with INSTEAD OF triggers")
	}
	return true, r.fire(&firing{t: t, event: events, changes: changes, count: int64(len(changes))}, ms[0])
}

// inTrigger reports whether the innermost trigger that is running is m.
func (r *run) inTrigger(m *storage.Module) bool {
	for p := r; p != nil; p = p.parent {
		if p.trig != nil {
			return p.trig.m.ID == m.ID
		}
	}
	return false
}

// fireAfter runs the AFTER triggers of a statement: those of its own table, also when it changed no row, then those of the
// tables that foreign keys carried the change to.
func (r *run) fireAfter(t *target, events uint8, changes []storage.Change) error {
	for _, ev := range [...]uint8{onInsert, onUpdate, onDelete} {
		if events&ev == 0 {
			continue
		}
		f := &firing{t: t, event: ev, changes: changes, count: int64(len(changes))}
		if events != ev {
			f.changes = changesOf(ev, changes)
		}
		if err := r.fireAll(f); err != nil {
			return err
		}
	}
	for len(r.stmt.cascaded) > 0 {
		f := r.stmt.cascaded[0]
		r.stmt.cascaded = r.stmt.cascaded[1:]
		f.count = int64(len(f.changes))
		if err := r.fireAll(f); err != nil {
			return err
		}
	}
	return nil
}

// changesOf picks the changes of one event out of those of a MERGE.
func changesOf(ev uint8, changes []storage.Change) []storage.Change {
	var out []storage.Change
	for _, ch := range changes {
		kind := onUpdate
		switch {
		case ch.Old == nil:
			kind = onInsert
		case ch.New == nil:
			kind = onDelete
		}
		if kind == ev {
			out = append(out, ch)
		}
	}
	return out
}

func (r *run) fireAll(f *firing) error {
	for _, m := range r.triggers(f.t, f.event, false) {
		// RECURSIVE_TRIGGERS is off: what a trigger does to its own table does not run it again.
		if r.inTrigger(m) {
			continue
		}
		if err := r.fire(f, m); err != nil {
			return err
		}
	}
	return nil
}

// fire runs one trigger in the transaction of the statement, which it sees as one that is open. XACT_ABORT is on in it; one
// that it ends by ROLLBACK or COMMIT is 3609, one that it dooms and goes on is 3616.
func (r *run) fire(f *firing, m *storage.Module) error {
	tg := m.Parsed.(*trigger)
	t, tx := &r.s.tran, r.stmt.tx
	auto, own := t.auto, t.count == 0
	if own {
		t.tx, t.count, t.name, t.quiet, t.auto = tx, 1, "", true, nil
	}
	err := r.inner(func(in *run) error {
		if f.t.db != in.s.db {
			in.db = f.t.db
			in.s.setDB(f.t.db)
		}
		in.proc, in.procID, in.b, in.trig = m.Name, m.ID, tg.b, f.run(m)
		in.s.opt.XactAbort = true
		in.s.rowCount = f.count
		_, err := in.list(tg.body)
		return err
	}, r.sink)
	ended := tx.Ended()
	if err == nil && t.doomed {
		err = sqlerr.New(3616)
	}
	if err == nil && ended && t.count == 0 {
		err = sqlerr.New(3609)
	}
	if own {
		t.auto = auto
		switch {
		case ended:
		case err == nil && t.count > 1:
			t.count--
		default:
			t.tx, t.count, t.doomed = nil, 0, false
		}
		t.quiet = false
	}
	return err
}

// run makes the logical tables of a trigger.
func (f *firing) run(m *storage.Module) *triggerRun {
	def := f.t.def.Clone()
	def.Indexes, def.Checks, def.ForeignKeys = nil, nil, nil
	tr := &triggerRun{m: m, event: f.event, def: def, inserted: newMemTable(def), deleted: newMemTable(def)}
	if f.event == onUpdate {
		tr.set = f.t.set
		if tr.set == nil {
			tr.set = make([]bool, len(def.Columns))
		}
	}
	for _, ch := range f.changes {
		if ch.Old != nil {
			tr.deleted.rows = append(tr.deleted.rows, &storage.Row{Vals: ch.Old.Vals})
		}
		if ch.New != nil {
			tr.inserted.rows = append(tr.inserted.rows, &storage.Row{Vals: append([]value.Value(nil), ch.New...)})
		}
	}
	return tr
}
