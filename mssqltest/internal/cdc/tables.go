package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// schemaName is the schema, and the user, that change data capture makes.
const schemaName = "cdc"

// metadataTable is one of the tables that sp_cdc_enable_db makes (Microsoft Learn, "cdc.change_tables" and its siblings).
type metadataTable struct {
	name    string
	columns string
	indexes []indexSpec
}

type indexSpec struct {
	name      string
	columns   []string
	unique    bool
	clustered bool
}

const (
	changeTables    = "change_tables"
	capturedColumns = "captured_columns"
	indexColumns    = "index_columns"
	timeMapping     = "lsn_time_mapping"
	ddlHistory      = "ddl_history"
)

var metadataTables = []metadataTable{
	{changeTables, `object_id int, version int?, source_object_id int?, capture_instance sysname, start_lsn binary(10)?, end_lsn binary(10)?,
		supports_net_changes bit?, has_drop_pending bit?, role_name sysname?, index_name sysname?, filegroup_name sysname?, create_date datetime?,
		partition_switch bit`, []indexSpec{
		{"change_tables_clustered_idx", []string{"object_id"}, true, true},
		{"change_tables_unique_idx", []string{"capture_instance"}, true, false},
		{"source_object_id_idx", []string{"source_object_id"}, false, false},
	}},
	{capturedColumns, `object_id int, column_name sysname, column_id int?, column_type sysname, column_ordinal int, is_computed bit?,
		masking_function nvarchar(4000)?`, []indexSpec{
		{"captured_columns_clustered_idx", []string{"object_id", "column_ordinal"}, true, true},
	}},
	{indexColumns, `object_id int, column_name sysname, index_ordinal tinyint, column_id int`, []indexSpec{
		{"index_columns_clustered_idx", []string{"object_id", "index_ordinal"}, true, true},
	}},
	{timeMapping, `start_lsn binary(10), tran_begin_time datetime?, tran_end_time datetime?, tran_id varbinary(10)?, tran_begin_lsn binary(10)?`, []indexSpec{
		{"lsn_time_mapping_clustered_idx", []string{"start_lsn"}, true, true},
		{"lsn_time_mapping_nonunique_idx", []string{"tran_end_time"}, false, false},
	}},
	{ddlHistory, `source_object_id int?, object_id int, required_column_update bit?, ddl_command nvarchar(max)?, ddl_lsn binary(10), ddl_time datetime?`, []indexSpec{
		{"ddl_history_clustered_idx", []string{"object_id", "ddl_lsn"}, false, true},
	}},
}

// tableDef makes the definition of a table of schema cdc.
func tableDef(db *storage.Database, schema *storage.Schema, name string, cols []*storage.Column, indexes []indexSpec) *storage.TableDef {
	d := &storage.TableDef{ObjectHeader: storage.ObjectHeader{SchemaID: schema.ID, Schema: schema.Name, Name: name, Type: "U"}, Columns: cols}
	for i, x := range indexes {
		def := &storage.IndexDef{Name: x.name, Unique: x.unique, Clustered: x.clustered, ID: i + 1}
		if !indexes[0].clustered {
			def.ID++
		}
		for _, name := range x.columns {
			def.Columns = append(def.Columns, storage.IndexColumn{Column: columnNamed(db, cols, name)})
		}
		d.Indexes = append(d.Indexes, def)
	}
	return d
}

// columnNamed finds a column by its name in the collation of the database, -1 if there is none.
func columnNamed(db *storage.Database, cols []*storage.Column, name string) int {
	for i, c := range cols {
		if db.Collation.Compare(c.Name, name, true) == 0 {
			return i
		}
	}
	return -1
}

// tableColumns makes columns of a column list; text is in the collation of the database.
func tableColumns(db *storage.Database, spec string) []*storage.Column {
	var out []*storage.Column
	for i, c := range sysrow.Columns(spec) {
		t := c.Type
		if t.IsChar() {
			t.Coll = db.Collation
		}
		out = append(out, &storage.Column{ID: i + 1, Name: c.Name, Type: t, Nullable: c.Nullable})
	}
	return out
}

// rowOf makes a row of a table of named cells; the others are NULL.
func rowOf(db *storage.Database, d *storage.TableDef, cells sysrow.Row) ([]value.Value, error) {
	vals := make([]value.Value, len(d.Columns))
	for i, c := range d.Columns {
		v, ok := cells[c.Name]
		if !ok {
			continue
		}
		var err error
		if vals[i], err = sysrow.Value(v, c.Type, db.Instance().Location()); err != nil {
			return nil, err
		}
	}
	return vals, nil
}
