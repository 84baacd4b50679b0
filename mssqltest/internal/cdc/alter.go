package cdc

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// alter handles a DDL statement on a tracked table: a row of cdc.ddl_history for each instance, and the change table's
// column when the type of a captured one has changed (Microsoft Learn, "About change data capture", Handling changes to
// source tables). Added columns are not captured; dropped ones stay and are NULL from then on.
func (w *captureWriter) alter(ctx context.Context, tx *storage.Tx, d storage.LogDDL) error {
	if d.Table == nil || d.Text == "" && d.After == nil {
		return nil
	}
	w.ddl++
	for _, i := range w.instances {
		if i.source != d.Table.ID() || !i.started || w.record.Commit.Compare(i.start) < 0 {
			continue
		}
		changed, err := w.retype(ctx, tx, i, d)
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, w.j.db, ddlHistory, sysrow.Row{
			"source_object_id": i.source, "object_id": i.object, "required_column_update": changed, "ddl_command": d.Text,
			"ddl_lsn": d.LSN[:], "ddl_time": d.Time,
		}); err != nil {
			return err
		}
	}
	return nil
}

// retype gives the captured columns of a change table the types that ALTER COLUMN has given the source's.
func (w *captureWriter) retype(ctx context.Context, tx *storage.Tx, i *instance, d storage.LogDDL) (bool, error) {
	if d.After == nil {
		return false, nil
	}
	t, err := w.target(i)
	if err != nil {
		return false, err
	}
	def := t.def.Clone()
	changed := map[int]captured{}
	for n, col := range i.columns {
		at := columnByID(d.After, col.id)
		if at < 0 {
			continue
		}
		src, place := d.After.Columns[at], ctCaptured+n
		to := capturedType(src.Type)
		if def.Columns[place].Type == to {
			continue
		}
		c := *def.Columns[place]
		c.Type = to
		def.Columns[place] = &c
		changed[place] = captured{id: col.id, typ: sysrow.TypeRow(src.Type).Name}
	}
	if len(changed) == 0 {
		return false, nil
	}
	if err := w.flush(ctx, tx, i.object); err != nil {
		return false, err
	}
	old := t.def
	err = tx.AlterTable(ctx, t.table, def, func(vals []value.Value) ([]value.Value, error) {
		out := append([]value.Value(nil), vals...)
		for place := range changed {
			if out[place].IsNull() {
				continue
			}
			t.env.Column = def.Columns[place].Name
			var err error
			if out[place], err = value.Assign(t.env, out[place], old.Columns[place].Type, def.Columns[place].Type); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	if err != nil {
		return false, err
	}
	t.def = def
	return true, change(ctx, tx, w.j.db, capturedColumns, objectKey(i.object), func(vals []value.Value) []value.Value {
		if c, ok := changed[ctCaptured+int(vals[4].Int())-1]; ok {
			return setCell(vals, 3, value.NewNVarChar(c.typ))
		}
		return vals
	})
}
