package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// The places of the columns that begin every change table (Microsoft Learn, "cdc.<capture_instance>_CT").
const (
	ctStartLSN = iota
	ctEndLSN
	ctSeqVal
	ctOperation
	ctMask
	ctCaptured // the first captured column
)

// The names of the metadata columns.
const (
	startLSNColumn  = "__$start_lsn"
	endLSNColumn    = "__$end_lsn"
	seqValColumn    = "__$seqval"
	operationColumn = "__$operation"
	maskColumn      = "__$update_mask"
	commandIDColumn = "__$command_id"
)

var (
	binary10 = value.Type{ID: value.Binary, Len: 10}
	mask128  = value.Type{ID: value.VarBinary, Len: 128}
	intType  = value.Type{ID: value.Int}
	bitType  = value.Type{ID: value.Bit}
)

// changeTableDef makes the definition of a change table: the metadata columns around the captured ones, which are all
// nullable and have the types of the source.
func changeTableDef(db *storage.Database, schema *storage.Schema, r *enableRequest, o Options) *storage.TableDef {
	cols := []*storage.Column{
		{Name: startLSNColumn, Type: binary10},
		{Name: endLSNColumn, Type: binary10, Nullable: true},
		{Name: seqValColumn, Type: binary10},
		{Name: operationColumn, Type: intType},
		{Name: maskColumn, Type: mask128, Nullable: true},
	}
	for _, i := range r.ordinals {
		src := r.def.Columns[i]
		cols = append(cols, &storage.Column{Name: src.Name, Type: capturedType(src.Type), Nullable: true})
	}
	order := []string{startLSNColumn, commandIDColumn, seqValColumn, operationColumn}
	if o.WithoutCommandID {
		order = []string{startLSNColumn, seqValColumn, operationColumn}
	} else {
		cols = append(cols, &storage.Column{Name: commandIDColumn, Type: intType, Nullable: true})
	}
	for i, c := range cols {
		c.ID = i + 1
	}
	ct := (&instance{name: r.name}).changeTable()
	indexes := []indexSpec{{name: ct + "_clustered_idx", columns: order, unique: true, clustered: true}}
	if r.netChanges {
		var key []string
		for _, k := range r.key.Columns {
			key = append(key, r.def.Columns[k.Column].Name)
		}
		indexes = append(indexes, indexSpec{name: ct + "_idx", columns: append(key, order...)})
	}
	return tableDef(db, schema, ct, cols, indexes)
}

// capturedType is the type that a column of the source has in the change table: a rowversion becomes binary(8).
func capturedType(t value.Type) value.Type {
	if t.ID == value.RowVersion {
		return value.Type{ID: value.Binary, Len: 8}
	}
	return t
}
