package cdc

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// metaTable finds a table of schema cdc as a transaction sees it; error 208 if there is none.
func metaTable(tx *storage.Tx, db *storage.Database, name string) (*storage.Table, error) {
	if t, ok := tx.Catalog(db).Object(schemaName, name).(*storage.Table); ok {
		return t, nil
	}
	return nil, sqlerr.New(208, schemaName+"."+name)
}

// insert adds one row to a table of schema cdc.
func insert(ctx context.Context, tx *storage.Tx, db *storage.Database, table string, cells sysrow.Row) error {
	t, err := metaTable(tx, db, table)
	if err != nil {
		return err
	}
	vals, err := rowOf(db, t.Def(), cells)
	if err != nil {
		return err
	}
	_, err = tx.Apply(ctx, t, []storage.Change{{New: vals}})
	return err
}

// change replaces (or, where f gives nil, deletes) the rows of a table of schema cdc whose first key column of an index
// has the value key.
func change(ctx context.Context, tx *storage.Tx, db *storage.Database, table string, key value.Value, f func(vals []value.Value) []value.Value) error {
	t, err := metaTable(tx, db, table)
	if err != nil {
		return err
	}
	r := storage.Prefix(t.Def().Indexes[0].AppendKey(nil, t.Def(), key))
	var changes []storage.Change
	for row, err := range tx.Scan(ctx, t, 0, r, storage.Access{ForUpdate: true}) {
		if err != nil {
			return err
		}
		changes = append(changes, storage.Change{Old: row, New: f(row.Vals)})
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = tx.Apply(ctx, t, changes)
	return err
}

// setCell makes a copy of a row with one value changed.
func setCell(vals []value.Value, i int, v value.Value) []value.Value {
	out := append([]value.Value(nil), vals...)
	out[i] = v
	return out
}

// objectKey is the key of the rows of one change table in the metadata tables.
func objectKey(object int32) value.Value { return value.NewInt(value.Int, int64(object)) }

// track sets or, when no instance is left, clears is_tracked_by_cdc of a source table.
func (m *Manager) track(c *exec.Context, tx *storage.Tx, source int32, tracked bool) error {
	t, ok := tx.Catalog(c.DB).ObjectByID(source).(*storage.Table)
	if !ok || t.Def().TrackedByCDC == tracked {
		return nil
	}
	def := t.Def().Clone()
	def.TrackedByCDC = tracked
	return tx.AlterTable(c.Context(), t, def, nil)
}
