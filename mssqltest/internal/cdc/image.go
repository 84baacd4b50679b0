package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// target is a change table that the capture of a transaction writes to.
type target struct {
	table   *storage.Table
	def     *storage.TableDef
	columns []captured
	command int // place of __$command_id, -1 in old tables
	empty   bool
	env     *value.Env
}

// target finds the change table of an instance.
func (w *captureWriter) target(i *instance) (*target, error) {
	if t := w.tables[i.object]; t != nil {
		return t, nil
	}
	table, err := w.table(i.changeTable())
	if err != nil {
		return nil, err
	}
	t := &target{table: table, def: table.Def(), columns: i.columns, command: -1, empty: w.j.m.options(w.j.db).EmptyUpdates}
	if last := len(t.def.Columns) - 1; t.def.Columns[last].Name == commandIDColumn {
		t.command = last
	}
	t.env = &value.Env{Location: w.j.m.st.Location(), DBCollation: w.j.db.Collation, Table: t.def.QualifiedName()}
	w.tables[i.object] = t
	return t, nil
}

// image makes the change table's row of a change. keep is false for an update of other columns than the captured ones.
func (t *target) image(commit storage.LSN, c *storage.LogChange) (row []value.Value, keep bool, err error) {
	row = make([]value.Value, len(t.def.Columns))
	row[ctStartLSN], row[ctSeqVal] = lsnValue(commit), lsnValue(c.Seq)
	row[ctOperation] = value.NewInt(value.Int, int64(c.Op))
	if t.command >= 0 {
		row[t.command] = value.NewInt(value.Int, int64(c.CommandID))
	}
	update := c.Op == storage.OpBefore || c.Op == storage.OpAfter
	mask := NewMask(len(t.columns))
	if !update {
		mask = FullMask(len(t.columns))
	}
	keep = !update || t.empty
	for n, col := range t.columns {
		at := columnByID(c.Def, col.id)
		if at < 0 {
			continue // dropped from the source
		}
		changed := !update
		if update && c.Changed.Has(at) {
			mask.Set(n + 1)
			changed, keep = true, true
		}
		src := c.Def.Columns[at]
		if hidden(src, c.Op, changed) {
			continue
		}
		if row[ctCaptured+n], err = t.convert(c.Row[at], src.Type, ctCaptured+n); err != nil {
			return nil, false, err
		}
	}
	row[ctMask] = value.NewVarBinary(mask)
	return row, keep, nil
}

// hidden reports whether a value is left out of a change row (Microsoft Learn, "cdc.<capture_instance>_CT", Remarks):
// computed columns always, text, ntext and image in deletes and before images, large values in updates that do not
// change them.
func hidden(c *storage.Column, op byte, changed bool) bool {
	if c.Computed != nil {
		return true
	}
	switch c.Type.ID {
	case value.Text, value.NText, value.Image:
		return op == storage.OpDelete || op == storage.OpBefore || !changed
	case value.VarChar, value.NVarChar, value.VarBinary:
		return c.Type.Len == value.Max && !changed
	}
	return false
}

// convert gives a value the type of the change table's column, which differs for a rowversion and after ALTER COLUMN.
func (t *target) convert(v value.Value, from value.Type, at int) (value.Value, error) {
	to := t.def.Columns[at].Type
	if v.IsNull() || from == to {
		return v, nil
	}
	if from.ID == value.RowVersion {
		return value.NewBinary(value.Binary, v.Bytes()), nil
	}
	t.env.Column = t.def.Columns[at].Name
	return value.Assign(t.env, v, from, to)
}

// columnByID finds a column by its column_id, -1 if the table has none.
func columnByID(d *storage.TableDef, id int) int {
	for i, c := range d.Columns {
		if c.ID == id {
			return i
		}
	}
	return -1
}
