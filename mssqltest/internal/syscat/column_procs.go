package syscat

import (
	"cmp"
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// columnProcs registers sp_columns in its three shapes and what describes types.
func (r registrar) columnProcs() {
	const old = `@table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @column_name nvarchar(384) = NULL`
	r.proc("sp_columns", old+`, @ODBCVer int = 2`, func(c *exec.Context, a sysrow.Args) (int32, error) {
		return spColumns(c, a, columnsProc80, a.Int(4, 2))
	})
	const scoped = old + `, @NameScope int = 0, @ODBCVer int = 2, @fUsePattern bit = 1`
	for name, cols := range map[string][]exec.Column{
		"sp_columns_90": columnsProc90, "sp_columns_100": columnsProc100, "sp_columns_170": columnsProc100, "sp_columns_managed": columnsProc100,
	} {
		r.proc(name, scoped, func(c *exec.Context, a sysrow.Args) (int32, error) { return spColumns(c, a, cols, a.Int(5, 2)) })
	}
	r.proc("sp_datatype_info", `@data_type int = 0, @ODBCVer tinyint = 2`, spDatatypeInfo)
	r.proc("sp_datatype_info_90", `@data_type int = 0, @ODBCVer tinyint = 2`, spDatatypeInfo)
	r.proc("sp_datatype_info_100", `@data_type int = 0, @ODBCVer tinyint = 2`, spDatatypeInfo)
	r.proc("sp_tablecollations_100", `@object nvarchar(4000)`, spTableCollations)
	r.proc("sp_tablecollations_90", `@object nvarchar(4000)`, spTableCollations)
	r.proc("sp_tablecollations", `@object nvarchar(4000)`, spTableCollations)
}

const columnsProcBase = `TABLE_QUALIFIER sysname?, TABLE_OWNER sysname?, TABLE_NAME sysname, COLUMN_NAME sysname?, DATA_TYPE smallint, TYPE_NAME sysname,
	PRECISION int?, LENGTH int?, SCALE smallint?, RADIX smallint?, NULLABLE smallint, REMARKS varchar(254)?, COLUMN_DEF nvarchar(4000)?,
	SQL_DATA_TYPE smallint, SQL_DATETIME_SUB smallint?, CHAR_OCTET_LENGTH int?, ORDINAL_POSITION int, IS_NULLABLE varchar(254)?, `

const columnsProcUDT = `SS_UDT_CATALOG_NAME sysname?, SS_UDT_SCHEMA_NAME sysname?, SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(4000)?,
	SS_XML_SCHEMACOLLECTION_CATALOG_NAME sysname?, SS_XML_SCHEMACOLLECTION_SCHEMA_NAME sysname?, SS_XML_SCHEMACOLLECTION_NAME sysname?, `

var (
	columnsProc80  = sysrow.Columns(columnsProcBase + `SS_DATA_TYPE tinyint?`)
	columnsProc90  = sysrow.Columns(columnsProcBase + columnsProcUDT + `SS_DATA_TYPE tinyint?`)
	columnsProc100 = sysrow.Columns(columnsProcBase + `SS_IS_SPARSE smallint?, SS_IS_COLUMN_SET smallint?, SS_IS_COMPUTED smallint?,
		SS_IS_IDENTITY smallint?, ` + columnsProcUDT + `SS_DATA_TYPE tinyint?`)
)

func spColumns(c *exec.Context, a sysrow.Args, cols []exec.Column, odbc int64) (int32, error) {
	s := sourceOf(c)
	if err := s.qualified(a.Str(2)); err != nil {
		return 1, err
	}
	pattern := len(a.Vals) < 7 || a.Int(6, 1) != 0
	var rows []sysrow.Row
	for h, columns := range s.eachColumns {
		if !s.matches(h.Name, a.Str(0), pattern) || !s.matches(h.Schema, a.Str(1), pattern) {
			continue
		}
		for i, col := range columns {
			if s.matches(col.Name, a.Str(3), pattern) {
				rows = append(rows, s.columnsProcRow(h, col, i+1, odbc))
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y sysrow.Row) int {
		return cmp.Or(cmp.Compare(x["TABLE_OWNER"].(string), y["TABLE_OWNER"].(string)), cmp.Compare(x["TABLE_NAME"].(string), y["TABLE_NAME"].(string)))
	})
	return 0, sysrow.Emit(c, cols, slices.Values(rows))
}

// columnsProcRow is one column as sp_columns shows it.
func (s *source) columnsProcRow(h *storage.ObjectHeader, col *storage.Column, ordinal int, odbc int64) sysrow.Row {
	o := odbcOf(col.Type)
	name := sysrow.TypeRow(col.Type).Name
	if col.Identity != nil {
		if col.Type.ID == value.Decimal || col.Type.ID == value.Numeric {
			name += "()"
		}
		name += " identity"
	}
	row := sysrow.Row{
		"TABLE_QUALIFIER": s.db.Name(), "TABLE_OWNER": h.Schema, "TABLE_NAME": h.Name, "COLUMN_NAME": col.Name, "DATA_TYPE": o.code(odbc),
		"TYPE_NAME": name, "PRECISION": o.precision, "LENGTH": o.length, "SCALE": o.scale, "RADIX": o.radix, "NULLABLE": col.Nullable,
		"SQL_DATA_TYPE": o.sqlType, "SQL_DATETIME_SUB": o.datetimeSub, "CHAR_OCTET_LENGTH": o.octets, "ORDINAL_POSITION": ordinal,
		"IS_NULLABLE": yesNo(col.Nullable), "SS_IS_SPARSE": col.Sparse, "SS_IS_COLUMN_SET": 0, "SS_IS_COMPUTED": col.Computed != nil,
		"SS_IS_IDENTITY": col.Identity != nil, "SS_DATA_TYPE": o.ssType,
	}
	if col.Nullable {
		row["SS_DATA_TYPE"] = o.ssTypeNull
	}
	if col.Default != nil {
		row["COLUMN_DEF"] = col.Default.Text
	}
	if col.Type.ID == value.CLR {
		row["SS_UDT_CATALOG_NAME"], row["SS_UDT_SCHEMA_NAME"] = s.db.Name(), "sys"
		row["SS_UDT_ASSEMBLY_TYPE_NAME"] = clrAssembly(col.Type.Name)
	}
	return row
}

// code is DATA_TYPE for a client of ODBC version 2 or 3.
func (o odbcType) code(odbc int64) int {
	if odbc < 3 {
		return o.dataType2
	}
	return o.dataType
}

// clrAssembly is the assembly-qualified name of a system CLR type.
func clrAssembly(name string) string {
	class := map[string]string{"hierarchyid": "SqlHierarchyId", "geometry": "SqlGeometry", "geography": "SqlGeography"}[name]
	return "Microsoft.SqlServer.Types." + class + ", Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"
}

// rowIdentity lists the columns that identify a row, or the rowversion column.
func rowIdentity(t *storage.TableDef, version bool) []*storage.Column {
	var out []*storage.Column
	if version {
		for _, col := range t.Columns {
			if col.Type.ID == value.RowVersion {
				out = append(out, col)
			}
		}
		return out
	}
	key := t.PrimaryKey()
	for _, x := range t.Indexes {
		if key == nil && x.Unique && x.FilterText == "" {
			key = x
		}
	}
	if key != nil {
		for _, col := range key.Columns {
			out = append(out, t.Columns[col.Column])
		}
	}
	return out
}

var datatypeInfoColumns = sysrow.Columns(`TYPE_NAME sysname, DATA_TYPE smallint?, PRECISION int?, LITERAL_PREFIX varchar(32)?, LITERAL_SUFFIX varchar(32)?,
	CREATE_PARAMS varchar(32)?, NULLABLE smallint?, CASE_SENSITIVE smallint?, SEARCHABLE smallint?, UNSIGNED_ATTRIBUTE smallint?, MONEY smallint?,
	AUTO_INCREMENT smallint?, LOCAL_TYPE_NAME sysname?, MINIMUM_SCALE smallint?, MAXIMUM_SCALE smallint?, SQL_DATA_TYPE smallint?,
	SQL_DATETIME_SUB smallint?, NUM_PREC_RADIX int?, INTERVAL_PRECISION smallint?, USERTYPE smallint?`)

func spDatatypeInfo(c *exec.Context, a sysrow.Args) (int32, error) {
	want, odbc := a.Int(0, 0), a.Int(1, 2)
	var rows []sysrow.Row
	for _, st := range sysrow.Types {
		t := value.Type{ID: st.System, Len: int(st.MaxLength), Prec: st.Precision, Scale: st.Scale}
		if st.Alias || st.CLR {
			t.Name = st.Name
		}
		if t.IsUnicode() {
			t.Len /= 2
		}
		o := odbcOf(t)
		if want != 0 && int64(o.code(odbc)) != want {
			continue
		}
		row := sysrow.Row{
			"TYPE_NAME": st.Name, "DATA_TYPE": o.code(odbc), "PRECISION": o.precision, "NULLABLE": !st.NotNull, "CASE_SENSITIVE": 0, "SEARCHABLE": 2,
			"MONEY": t.ID == value.Money || t.ID == value.SmallMoney, "LOCAL_TYPE_NAME": st.Name, "SQL_DATA_TYPE": o.sqlType,
			"SQL_DATETIME_SUB": o.datetimeSub, "NUM_PREC_RADIX": o.radix, "USERTYPE": 0,
		}
		switch {
		case t.IsUnicode():
			row["LITERAL_PREFIX"], row["LITERAL_SUFFIX"], row["SEARCHABLE"] = "N'", "'", 3
		case t.IsChar() || o.sqlType == 9:
			row["LITERAL_PREFIX"], row["LITERAL_SUFFIX"], row["SEARCHABLE"] = "'", "'", 3
		case t.IsBinary() || t.ID == value.RowVersion:
			row["LITERAL_PREFIX"] = "0x"
		}
		if o.radix != nil {
			row["UNSIGNED_ATTRIBUTE"], row["AUTO_INCREMENT"] = t.ID == value.TinyInt, 0
			row["MINIMUM_SCALE"], row["MAXIMUM_SCALE"] = 0, o.scale
		}
		if t.Len > 0 && (t.IsChar() || t.IsBinary()) {
			row["CREATE_PARAMS"] = "max length"
		}
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(x, y sysrow.Row) int { return cmp.Compare(x["DATA_TYPE"].(int), y["DATA_TYPE"].(int)) })
	return 0, sysrow.Emit(c, datatypeInfoColumns, slices.Values(rows))
}

var tableCollationColumns = sysrow.Columns(`colid int, name sysname, tds_collation binary(5)?, collation sysname?`)

// spTableCollations gives the collations of a table's columns to bulk loading clients.
func spTableCollations(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	t := s.tableNamed(a.Str(0))
	return 0, sysrow.Emit(c, tableCollationColumns, func(yield func(sysrow.Row) bool) {
		if t == nil {
			return
		}
		for _, col := range t.Columns {
			row := sysrow.Row{"colid": col.ID, "name": col.Name}
			if col.Type.IsChar() {
				coll := s.collation(col.Type)
				wire := coll.Wire()
				row["tds_collation"], row["collation"] = wire[:], coll.Name
			}
			if !yield(row) {
				return
			}
		}
	})
}
