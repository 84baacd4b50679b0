package storage

import (
	"context"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// RenameObject gives an object another name in its schema; a taken name is error 15335.
func (tx *Tx) RenameObject(ctx context.Context, db *Database, o Object, name string) error {
	return tx.moveObject(ctx, db, o, o.Header().Schema, name)
}

// TransferObject is ALTER SCHEMA TRANSFER.
func (tx *Tx) TransferObject(ctx context.Context, db *Database, o Object, schema string) error {
	return tx.moveObject(ctx, db, o, schema, o.Header().Name)
}

func (tx *Tx) moveObject(ctx context.Context, db *Database, o Object, schema, name string) error {
	if err := tx.writable(db); err != nil {
		return err
	}
	t, isTable := o.(*Table)
	if isTable {
		if _, err := tx.alone(ctx, t); err != nil {
			return err
		}
		t = t.core.live
		o = t
	}
	cat := db.current()
	s := cat.schemaNamed(schema)
	if s == nil {
		return sqlerr.Newf(15151, 16, "Cannot find the schema '%s', because it does not exist or you do not have permission.", schema)
	}
	before := o.Header()
	if other := cat.object(schema, name); other != nil && other.Header().ID != before.ID {
		return sqlerr.Newf(15335, 11, "Error: The new name '%s' is already in use as a OBJECT name and would cause a duplicate that is not permitted.", name)
	}
	after := *before
	after.SchemaID, after.Schema, after.Name, after.Modified = s.ID, s.Name, name, time.Now()
	if isTable {
		d := t.core.def.Load().Clone()
		d.ObjectHeader = after
		if err := t.core.replace(d, nil); err != nil {
			return err
		}
		return tx.doCatalog(db, catalogOp{before: t, after: t, beforeHeader: before, afterHeader: &d.ObjectHeader})
	}
	m, ok := o.(*Module)
	if !ok {
		return sqlerr.Newf(15225, 11, "No item by the name of '%s' could be found in the current database.", before.Name)
	}
	n := *m
	n.ObjectHeader = after
	return tx.doCatalog(db, catalogOp{before: m, after: &n, beforeHeader: before, afterHeader: &n.ObjectHeader})
}

// CreateModule adds a view, procedure, function, trigger, synonym or type. The header gets an object_id if it has none.
func (tx *Tx) CreateModule(db *Database, m *Module) error {
	if err := tx.prepareObject(db, &m.ObjectHeader); err != nil {
		return err
	}
	return tx.doCatalog(db, catalogOp{after: m, afterHeader: &m.ObjectHeader})
}

// AlterModule puts m in the place of old, whose object_id and creation time it keeps.
func (tx *Tx) AlterModule(db *Database, old, m *Module) error {
	if err := tx.writable(db); err != nil {
		return err
	}
	h := old.ObjectHeader
	m.ID, m.SchemaID, m.Schema, m.Created, m.Modified = h.ID, h.SchemaID, h.Schema, h.Created, time.Now()
	return tx.doCatalog(db, catalogOp{before: old, after: m, beforeHeader: &old.ObjectHeader, afterHeader: &m.ObjectHeader})
}

// DropModule removes a module.
func (tx *Tx) DropModule(db *Database, m *Module) error {
	if err := tx.writable(db); err != nil {
		return err
	}
	return tx.doCatalog(db, catalogOp{before: m, beforeHeader: &m.ObjectHeader})
}

// CreateSchema adds a schema; a taken name is error 2714.
func (tx *Tx) CreateSchema(db *Database, name string) (*Schema, error) {
	if err := tx.writable(db); err != nil {
		return nil, err
	}
	if db.current().schemaNamed(name) != nil {
		return nil, errNameTaken(name)
	}
	db.mu.Lock()
	s := &Schema{ID: db.nextSchema, Name: name}
	db.nextSchema++
	db.mu.Unlock()
	if err := tx.doCatalog(db, catalogOp{schemaAfter: s}); err != nil {
		return nil, err
	}
	return s, nil
}

// DropSchema removes an empty schema: 15151 if there is none, 3729 if it has objects.
func (tx *Tx) DropSchema(db *Database, name string) error {
	if err := tx.writable(db); err != nil {
		return err
	}
	cat := db.current()
	s := cat.schemaNamed(name)
	if s == nil || s.ID <= SchemaSys {
		return sqlerr.Newf(15151, 16, "Cannot drop the schema '%s', because it does not exist or you do not have permission.", name)
	}
	for _, o := range cat.list() {
		if h := o.Header(); h.SchemaID == s.ID {
			return sqlerr.Newf(3729, 16, "Cannot drop schema '%s' because it is being referenced by object '%s'.", s.Name, h.Name)
		}
	}
	return tx.doCatalog(db, catalogOp{schemaBefore: s})
}
