package storage

import (
	"context"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// CreateTable makes a table in db. The definition gets an object_id if it has none; a taken name is error 2714. Others
// cannot use the table before the commit.
func (tx *Tx) CreateTable(db *Database, d *TableDef) (*Table, error) {
	if err := tx.prepareObject(db, &d.ObjectHeader); err != nil {
		return nil, err
	}
	d.normalize()
	c := newTableCore(db, d)
	c.rebuilt, c.dropped = true, true
	if !tx.in.locks.try(tx.owner, c.resource(), SchM) {
		return nil, errNameTaken(d.Name)
	}
	t := tx.table(c)
	t.mode, t.rebuilt = SchM, true
	tx.touch(db)
	tx.changes = append(tx.changes, change{core: c, state: &tableState{store: c.current, dropped: true, identity: c.identity.state()}})
	if err := tx.doCatalog(db, catalogOp{after: c.live, afterHeader: &d.ObjectHeader}); err != nil {
		return nil, err
	}
	c.dropped = false
	return c.live, nil
}

// prepareObject checks a new object's schema and name and completes its header.
func (tx *Tx) prepareObject(db *Database, h *ObjectHeader) error {
	if tx.ended {
		return errEnded
	}
	if err := tx.writable(db); err != nil {
		return err
	}
	cat := db.current()
	s := cat.schemaNamed(h.Schema)
	if s == nil {
		return sqlerr.Newf(2760, 16, "The specified schema name \"%s\" either does not exist or you do not have permission to use it.", h.Schema)
	}
	if cat.object(h.Schema, h.Name) != nil {
		return errNameTaken(h.Name)
	}
	h.SchemaID, h.Schema = s.ID, s.Name
	if h.ID == 0 {
		h.ID = db.NextObjectID()
	}
	if h.Created.IsZero() {
		h.Created = time.Now()
		h.Modified = h.Created
	}
	return nil
}

// doCatalog makes a change of the current catalog that the commit repeats on the Root and a rollback takes back. Of
// transactions that want the same name at the same time one gets it; the others get error 2714.
func (tx *Tx) doCatalog(db *Database, op catalogOp) error {
	tx.touch(db)
	db.mu.Lock()
	defer db.mu.Unlock()
	if h := op.afterHeader; op.after != nil {
		if other := db.catalog.object(h.Schema, h.Name); other != nil && other.Header().ID != h.ID {
			return errNameTaken(h.Name)
		}
	}
	if s := op.schemaAfter; s != nil && db.catalog.schemaNamed(s.Name) != nil {
		return errNameTaken(s.Name)
	}
	db.catalog = db.catalog.with(op)
	tx.catalog = append(tx.catalog, catalogDo{db, op})
	return nil
}

// alone takes the Sch-M lock for DDL on a table and saves its state for a rollback.
func (tx *Tx) alone(ctx context.Context, t *Table) (*tableCore, error) {
	c := t.core
	if err := tx.writable(c.db); err != nil {
		return nil, err
	}
	tt, err := tx.lockTable(ctx, c, SchM, true, tx.timeout())
	if err != nil {
		return nil, err
	}
	tx.touch(c.db)
	c.mu.Lock()
	defer c.mu.Unlock()
	saved := &tableState{store: c.current, rebuilt: c.rebuilt, dropped: c.dropped, identity: c.identity.state()}
	c.touched()
	c.current = c.current.clone()
	for _, ch := range tx.changes {
		if ch.core == c && ch.state == nil {
			c.settle(ch)
		}
	}
	c.rebuilt = true
	tt.rebuilt, tt.overlay = true, nil
	tx.changes = append(tx.changes, change{core: c, state: saved})
	return c, nil
}

// AlterTable replaces a table's definition. rewrite makes the new form of each row; without it rows stay, and so do the
// trees of indexes that stay. The object_id and the name stay; a duplicate in a new unique index is error 1505.
func (tx *Tx) AlterTable(ctx context.Context, t *Table, d *TableDef, rewrite func(old []value.Value) ([]value.Value, error)) error {
	before := len(tx.changes)
	c, err := tx.alone(ctx, t)
	if err != nil {
		return err
	}
	d.ID, d.Modified = c.id, time.Now()
	d.normalize()
	if err := c.replace(d, rewrite); err != nil {
		tx.undo(mark{changes: before, catalog: len(tx.catalog), logs: tx.mark().logs, command: tx.command})
		return err
	}
	return nil
}

func (c *tableCore) replace(d *TableDef, rewrite func([]value.Value) ([]value.Value, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, err := c.current.rebuild(d, rewrite, c.newRowID)
	if err != nil {
		return err
	}
	old := c.current.def
	c.touched()
	c.current = st
	c.def.Store(d)
	c.db.note(d)
	if i := d.IdentityColumn(); i >= 0 && old.IdentityColumn() < 0 {
		c.identity.reset(d.Columns[i].Identity)
	}
	return nil
}

// CreateIndex adds an index; a clustered one goes first. A zero ID is filled in.
func (tx *Tx) CreateIndex(ctx context.Context, t *Table, x *IndexDef) error {
	if _, err := tx.lockTable(ctx, t.core, SchM, true, tx.timeout()); err != nil {
		return err
	}
	d := t.core.def.Load().Clone()
	if x.ID == 0 {
		x.ID = d.nextIndexID(x.Clustered)
	}
	if x.Clustered {
		d.Indexes = append([]*IndexDef{x}, d.Indexes...)
	} else {
		d.Indexes = append(d.Indexes, x)
	}
	return tx.AlterTable(ctx, t, d, nil)
}

func (d *TableDef) nextIndexID(clustered bool) int {
	if clustered {
		return 1
	}
	id := 2
	for _, x := range d.Indexes {
		id = max(id, x.ID+1)
	}
	return id
}

// DropIndex removes the index of that id; an unknown one is error 3701.
func (tx *Tx) DropIndex(ctx context.Context, t *Table, id int) error {
	if _, err := tx.lockTable(ctx, t.core, SchM, true, tx.timeout()); err != nil {
		return err
	}
	d := t.core.def.Load().Clone()
	for i, x := range d.Indexes {
		if x.ID == id {
			d.Indexes = append(d.Indexes[:i], d.Indexes[i+1:]...)
			return tx.AlterTable(ctx, t, d, nil)
		}
	}
	return sqlerr.Newf(3701, 11, "Cannot drop the index '%s.%d', because it does not exist or you do not have permission.", d.QualifiedName(), id)
}

// TruncateTable removes all rows and resets the identity. Nothing is logged for the capture job: that a tracked table
// must not be truncated is the caller's check.
func (tx *Tx) TruncateTable(ctx context.Context, t *Table) error {
	c, err := tx.alone(ctx, t)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touched()
	c.current = newStore(c.current.def)
	if i := c.current.def.IdentityColumn(); i >= 0 {
		c.identity.reset(c.current.def.Columns[i].Identity)
	}
	return nil
}

// DropTable removes a table.
func (tx *Tx) DropTable(ctx context.Context, t *Table) error {
	c, err := tx.alone(ctx, t)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.dropped = true
	h := &c.current.def.ObjectHeader
	c.mu.Unlock()
	return tx.doCatalog(c.db, catalogOp{before: c.live, beforeHeader: h})
}
