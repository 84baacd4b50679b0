package cdc

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// registerHelp adds the procedures that describe capture instances.
func (m *Manager) registerHelp(reg *exec.Registry) {
	reg.AddProc(sysrow.Proc("sp_cdc_help_change_data_capture", `@source_schema sysname = NULL, @source_name sysname = NULL`, m.help))
	reg.AddProc(sysrow.Proc("sp_cdc_get_captured_columns", `@capture_instance sysname`, m.helpCaptured))
	reg.AddProc(sysrow.Proc("sp_cdc_get_ddl_history", `@capture_instance sysname`, m.helpHistory))
}

var helpColumns = sysrow.Columns(`source_schema sysname?, source_table sysname?, capture_instance sysname, object_id int, source_object_id int,
	start_lsn binary(10)?, end_lsn binary(10)?, supports_net_changes bit?, has_drop_pending bit?, role_name sysname?, index_name sysname?,
	filegroup_name sysname?, create_date datetime?, index_column_list nvarchar(max)?, captured_column_list nvarchar(max)?`)

// help is sys.sp_cdc_help_change_data_capture: the instances whose source columns the caller may select and whose role it has.
func (m *Manager) help(c *exec.Context, a sysrow.Args) (int32, error) {
	db := c.DB
	if !db.Props().CDCEnabled {
		return 1, errNotEnabled(db)
	}
	if a.Null(0) != a.Null(1) {
		return 1, sqlerr.New(22963, map[bool]string{true: "@source_schema", false: "@source_name"}[a.Null(0)])
	}
	root := rootOf(c)
	var source storage.Object
	if !a.Null(0) {
		if source = root.Object(a.Str(0), a.Str(1)); source == nil {
			return 1, sqlerr.New(22931, a.Str(0), a.Str(1))
		}
	}
	list, err := instances(committed(root))
	if err != nil {
		return 1, err
	}
	if source != nil && len(ofSource(list, source.Header().ID)) == 0 {
		return 1, sqlerr.New(22985, a.Str(0), a.Str(1))
	}
	filegroups := map[int32]value.Value{}
	for row := range committed(root)(changeTables) {
		filegroups[int32(row.Vals[0].Int())] = row.Vals[10]
	}
	return 0, sysrow.Emit(c, helpColumns, func(yield func(sysrow.Row) bool) {
		for _, i := range list {
			o := root.ObjectByID(i.source)
			if o == nil || source != nil && source.Header().ID != i.source || !mayRead(c, root, i) {
				continue
			}
			row := sysrow.Row{
				"source_schema": o.Header().Schema, "source_table": o.Header().Name, "capture_instance": i.name, "object_id": i.object,
				"source_object_id": i.source, "supports_net_changes": i.netChanges, "create_date": i.created, "filegroup_name": filegroups[i.object],
				"index_column_list": quoted(i.key), "captured_column_list": quoted(i.columnNames()),
			}
			if i.started {
				row["start_lsn"] = i.start[:]
			}
			if i.role != "" {
				row["role_name"] = i.role
			}
			if i.index != "" {
				row["index_name"] = i.index
			}
			if !yield(row) {
				return
			}
		}
	})
}

func (i *instance) columnNames() []string {
	out := make([]string, len(i.columns))
	for n, c := range i.columns {
		out[n] = c.name
	}
	return out
}

// quoted is a list of bracketed names, nil for an empty one.
func quoted(names []string) any {
	if len(names) == 0 {
		return nil
	}
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = quoteName(n)
	}
	return strings.Join(q, ", ")
}

// described finds the instance of @capture_instance for a caller who may know of it.
func (m *Manager) described(c *exec.Context, a sysrow.Args) (*instance, *storage.Root, error) {
	if !c.DB.Props().CDCEnabled {
		return nil, nil, errNotEnabled(c.DB)
	}
	if a.Null(0) {
		return nil, nil, sqlerr.New(22963, "@capture_instance")
	}
	i, err := m.visible(c, a.Vals[0])
	if err != nil {
		return nil, nil, err
	}
	if i == nil {
		return nil, nil, sqlerr.New(22920, a.Str(0))
	}
	return i, rootOf(c), nil
}

// source is the header of an instance's source table, an empty one when it is gone.
func (i *instance) sourceHeader(root *storage.Root) *storage.ObjectHeader {
	if o := root.ObjectByID(i.source); o != nil {
		return o.Header()
	}
	return &storage.ObjectHeader{}
}

var capturedColumnColumns = sysrow.Columns(`source_schema sysname?, source_table sysname?, capture_instance sysname, column_name sysname,
	column_id int?, ordinal_position int, data_type sysname, character_maximum_length int?, numeric_precision tinyint?,
	numeric_precision_radix smallint?, numeric_scale int?, datetime_precision smallint?`)

// helpCaptured is sys.sp_cdc_get_captured_columns.
func (m *Manager) helpCaptured(c *exec.Context, a sysrow.Args) (int32, error) {
	i, root, err := m.described(c, a)
	if err != nil {
		return 1, err
	}
	h := i.sourceHeader(root)
	ct, _ := root.ObjectByID(i.object).(*storage.Table)
	return 0, sysrow.Emit(c, capturedColumnColumns, func(yield func(sysrow.Row) bool) {
		for n, col := range i.columns {
			row := sysrow.Row{
				"source_schema": h.Schema, "source_table": h.Name, "capture_instance": i.name, "column_name": col.name, "column_id": col.id,
				"ordinal_position": n + 1, "data_type": col.typ,
			}
			if ct != nil {
				describeType(row, ct.Def().Columns[ctCaptured+n].Type)
			}
			if !yield(row) {
				return
			}
		}
	})
}

// describeType fills the columns that describe a type as INFORMATION_SCHEMA.COLUMNS does.
func describeType(row sysrow.Row, t value.Type) {
	switch {
	case t.IsChar() || t.IsBinary():
		row["character_maximum_length"] = t.Len
	case t.ID == value.Float || t.ID == value.Real:
		row["numeric_precision"], row["numeric_precision_radix"] = sysrow.Precision(t), 2
	case t.IsNumber() && t.ID != value.Bit:
		row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = sysrow.Precision(t), 10, sysrow.Scale(t)
	case t.IsDateTime():
		row["datetime_precision"] = sysrow.Scale(t)
	}
}

var historyColumns = sysrow.Columns(`source_schema sysname?, source_table sysname?, capture_instance sysname, required_column_update bit?,
	ddl_command nvarchar(max)?, ddl_lsn binary(10), ddl_time datetime?`)

// helpHistory is sys.sp_cdc_get_ddl_history.
func (m *Manager) helpHistory(c *exec.Context, a sysrow.Args) (int32, error) {
	i, root, err := m.described(c, a)
	if err != nil {
		return 1, err
	}
	h := i.sourceHeader(root)
	var rows iter.Seq[sysrow.Row] = func(yield func(sysrow.Row) bool) {
		for row := range committed(root)(ddlHistory) {
			if int32(row.Vals[1].Int()) != i.object {
				continue
			}
			if !yield(sysrow.Row{
				"source_schema": h.Schema, "source_table": h.Name, "capture_instance": i.name, "required_column_update": row.Vals[2],
				"ddl_command": row.Vals[3], "ddl_lsn": row.Vals[4], "ddl_time": row.Vals[5],
			}) {
				return
			}
		}
	}
	return 0, sysrow.Emit(c, historyColumns, rows)
}

// createFunction makes the catalog object of a function of an instance; findFunction runs it.
func createFunction(tx *storage.Tx, db *storage.Database, schema *storage.Schema, name string) error {
	text := "create function " + quoteName(schemaName) + "." + quoteName(name) +
		" (@from_lsn binary(10), @to_lsn binary(10), @row_filter_option nvarchar(30)) returns table return"
	return tx.CreateModule(db, &storage.Module{
		ObjectHeader: storage.ObjectHeader{SchemaID: schema.ID, Schema: schema.Name, Name: name, Type: "IF"}, Text: text,
	})
}
