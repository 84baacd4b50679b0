package cdc

import (
	"context"
	"errors"
	"iter"
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// instance is one capture instance as the metadata tables describe it.
type instance struct {
	object     int32 // of the change table
	source     int32
	name       string
	start      storage.LSN
	started    bool // start_lsn is not NULL
	netChanges bool
	role       string // "" = not gated
	index      string
	created    value.Value
	columns    []captured
	key        []string // columns of the index that identifies a row
}

// captured is a column of a capture instance; its place in instance.columns is its ordinal less one.
type captured struct {
	id       int // column_id in the source table
	name     string
	typ      string
	computed bool
}

// changeTable is the name of the instance's change table.
func (i *instance) changeTable() string { return i.name + "_CT" }

// allChanges and netFunction are the names of its functions.
func (i *instance) allChanges() string  { return allChangesPrefix + i.name }
func (i *instance) netFunction() string { return netChangesPrefix + i.name }

const (
	allChangesPrefix = "fn_cdc_get_all_changes_"
	netChangesPrefix = "fn_cdc_get_net_changes_"
)

// rowSource yields the rows of a table of schema cdc by its name; nothing if there is none.
type rowSource func(table string) iter.Seq2[*storage.Row, error]

// committed reads the tables of a Root, without locks.
func committed(root *storage.Root) rowSource {
	return func(table string) iter.Seq2[*storage.Row, error] {
		return func(yield func(*storage.Row, error) bool) {
			t, ok := root.Object(schemaName, table).(*storage.Table)
			if !ok {
				return
			}
			for row := range root.Rows(t) {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// inTx reads the tables as a transaction sees them.
func inTx(ctx context.Context, tx *storage.Tx, db *storage.Database) rowSource {
	return func(table string) iter.Seq2[*storage.Row, error] {
		t, ok := tx.Catalog(db).Object(schemaName, table).(*storage.Table)
		if !ok {
			return func(func(*storage.Row, error) bool) {}
		}
		return tx.Scan(ctx, t, -1, storage.Range{}, storage.Access{})
	}
}

// instances reads all capture instances, ordered by the object ids of their change tables.
func instances(read rowSource) ([]*instance, error) {
	var out []*instance
	byID := map[int32]*instance{}
	for row, err := range read(changeTables) {
		if err != nil {
			return nil, err
		}
		v := row.Vals
		i := &instance{
			object: int32(v[0].Int()), source: int32(v[2].Int()), name: v[3].Str(), netChanges: !v[6].IsNull() && v[6].Int() != 0,
			created: v[11],
		}
		if !v[4].IsNull() {
			i.start, i.started = lsnOf(v[4].Bytes()), true
		}
		if !v[8].IsNull() {
			i.role = v[8].Str()
		}
		if !v[9].IsNull() {
			i.index = v[9].Str()
		}
		out = append(out, i)
		byID[i.object] = i
	}
	for row, err := range read(capturedColumns) {
		if err != nil {
			return nil, err
		}
		v := row.Vals
		if i := byID[int32(v[0].Int())]; i != nil {
			i.columns = append(i.columns, captured{id: int(v[2].Int()), name: v[1].Str(), typ: v[3].Str(), computed: v[5].Int() != 0})
		}
	}
	for row, err := range read(indexColumns) {
		if err != nil {
			return nil, err
		}
		if i := byID[int32(row.Vals[0].Int())]; i != nil {
			i.key = append(i.key, row.Vals[1].Str())
		}
	}
	return out, nil
}

// named finds an instance by its name in the collation of the database, nil if there is none.
func named(db *storage.Database, list []*instance, name string) *instance {
	i := slices.IndexFunc(list, func(i *instance) bool { return db.Collation.Compare(i.name, name, true) == 0 })
	if i < 0 {
		return nil
	}
	return list[i]
}

// ofSource selects the instances of a source table.
func ofSource(list []*instance, source int32) []*instance {
	return slices.DeleteFunc(slices.Clone(list), func(i *instance) bool { return i.source != source })
}

// isNumber reports whether an error is a given error of the server.
func isNumber(err error, numbers ...int32) bool {
	var se *sqlerr.Error
	return errors.As(err, &se) && slices.Contains(numbers, se.Number)
}
