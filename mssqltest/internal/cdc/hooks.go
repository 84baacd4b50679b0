package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// registerHooks has the executor tell of statements on tracked tables.
func (m *Manager) registerHooks(reg *exec.Registry) {
	reg.Hooks.AlterTable = func(c *exec.Context, t *storage.Table, before, after *storage.TableDef, text string) error {
		if err := m.keepKey(c, t, after); err != nil {
			return err
		}
		return c.Tx.LogDDL(t.Database(), storage.LogDDL{Table: t, Before: before, After: after, Text: text})
	}
	reg.Hooks.DropTable = m.dropSource
	reg.Hooks.Changes = m.checkLOBs
	reg.Hooks.Configure = func(name string, value int64) {
		if name == "max text repl size (B)" {
			m.SetMaxTextReplSize(value)
		}
	}
	reg.Hooks.DropDatabase = func(_ *exec.Context, db *storage.Database) { m.Forget(db) }
}

// keepKey refuses an ALTER TABLE that takes away the index which net changes need: error 22983.
func (m *Manager) keepKey(c *exec.Context, t *storage.Table, after *storage.TableDef) error {
	list, err := instances(inTx(c.Context(), c.Tx, c.DB))
	if err != nil {
		return err
	}
	for _, i := range ofSource(list, t.ID()) {
		kept := !i.netChanges
		for _, x := range after.Indexes {
			kept = kept || c.DB.Collation.Compare(x.Name, i.index, true) == 0
		}
		if !kept {
			return sqlerr.New(22983, i.index, after.QualifiedName())
		}
	}
	return nil
}

// Forget stops the jobs of a database that is gone.
func (m *Manager) Forget(db *storage.Database) {
	m.dropJobs(db, true, true)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byDB, db)
}

// dropSource drops the capture instances of a table that is about to be dropped.
func (m *Manager) dropSource(c *exec.Context, t *storage.Table) error {
	list, err := instances(inTx(c.Context(), c.Tx, c.DB))
	if err != nil {
		return err
	}
	for _, i := range ofSource(list, t.ID()) {
		if err := m.dropInstance(c, c.Tx, i); err != nil {
			return err
		}
	}
	return nil
}

// SetMaxTextReplSize sets "max text repl size (B)": the largest value of a large column that a statement may write to a
// tracked table; below 0 there is no limit.
func (m *Manager) SetMaxTextReplSize(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.maxLOB = n
}

// checkLOBs refuses values of captured large columns that are longer than "max text repl size": error 7139.
func (m *Manager) checkLOBs(c *exec.Context, t *storage.Table, changes []storage.Change) error {
	m.mu.Lock()
	limit := m.maxLOB
	m.mu.Unlock()
	d := t.Def()
	var large []int
	for i, col := range d.Columns {
		if col.Type.IsLOB() && col.Type.ID != value.CLR && col.Computed == nil {
			large = append(large, i)
		}
	}
	if limit < 0 || len(large) == 0 {
		return nil
	}
	list, err := instances(committed(t.Database().Root()))
	if err != nil {
		return err
	}
	list = ofSource(list, t.ID())
	for _, at := range large {
		col := d.Columns[at]
		if !capturedBy(list, col.ID) {
			continue
		}
		for _, ch := range changes {
			if ch.New == nil || ch.New[at].IsNull() {
				continue
			}
			if n := byteLength(ch.New[at], col.Type); n > limit {
				return sqlerr.New(7139, n, limit)
			}
		}
	}
	return nil
}

// capturedBy reports whether any of the instances captures a column.
func capturedBy(list []*instance, column int) bool {
	for _, i := range list {
		for _, c := range i.columns {
			if c.id == column {
				return true
			}
		}
	}
	return false
}

// byteLength is what a value takes on the server.
func byteLength(v value.Value, t value.Type) int64 {
	switch {
	case t.IsUnicode():
		return 2 * int64(collate.UTF16Len(v.Str()))
	case t.IsChar():
		if t.Coll != nil {
			return int64(t.Coll.EncodedLen(v.Str()))
		}
		return int64(len(v.Str()))
	}
	return int64(len(v.Raw()))
}
