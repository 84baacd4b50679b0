package syscat

import (
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// describeProcs registers the procedures that describe a batch without running it.
func (r registrar) describeProcs() {
	r.proc("sp_describe_first_result_set", `@tsql nvarchar(max), @params nvarchar(max) = NULL, @browse_information_mode tinyint = 0`, describeFirst)
}

var describeColumns = sysrow.Columns(`is_hidden bit, column_ordinal int, name sysname?, is_nullable bit, system_type_id int,
	system_type_name nvarchar(256)?, max_length smallint, precision tinyint, scale tinyint, collation_name sysname?, user_type_id int?,
	user_type_database sysname?, user_type_schema sysname?, user_type_name sysname?, assembly_qualified_type_name nvarchar(4000)?,
	xml_collection_id int?, xml_collection_database sysname?, xml_collection_schema sysname?, xml_collection_name sysname?,
	is_xml_document bit, is_case_sensitive bit, is_fixed_length_clr_type bit, source_server sysname?, source_database sysname?,
	source_schema sysname?, source_table sysname?, source_column sysname?, is_identity_column bit?, is_part_of_unique_key bit?,
	is_updateable bit?, is_computed_column bit?, is_sparse_column_set bit?, ordinal_in_order_by_list smallint?,
	order_by_is_descending smallint?, order_by_list_length smallint?, tds_type_id int, tds_length int, tds_collation_id int?,
	tds_collation_sort_id tinyint?`)

// describeFirst is sp_describe_first_result_set, as bulk loading clients ask for the columns of a table.
func describeFirst(c *exec.Context, a sysrow.Args) (int32, error) {
	params, err := c.Session.ParseParams(a.Str(1))
	if err != nil {
		return 1, err
	}
	cols, err := describe(c, a.Str(0), params)
	if err != nil {
		return 1, err
	}
	s := sourceOf(c)
	browse := a.Int(2, 0) != 0
	rows := make([]sysrow.Row, 0, len(cols))
	for i, col := range cols {
		rows = append(rows, s.describe(i+1, col, browse))
	}
	return 0, sysrow.Emit(c, describeColumns, slices.Values(rows))
}

func (s *source) describe(ordinal int, c exec.Column, browse bool) sysrow.Row {
	row := s.typeCells(c.Type)
	st := sysrow.TypeRow(c.Type)
	id, length := tdsType(c.Type)
	row["is_hidden"], row["column_ordinal"], row["is_nullable"] = c.Hidden, ordinal, c.Nullable
	if c.Name != "" {
		row["name"] = c.Name
	}
	row["user_type_id"] = nil
	row["system_type_name"] = systemTypeName(c.Type)
	if st.Alias || st.CLR {
		row["user_type_id"], row["user_type_database"], row["user_type_schema"], row["user_type_name"] = st.User, s.db.Name(), "sys", st.Name
	}
	if st.CLR {
		row["assembly_qualified_type_name"] = clrAssembly(st.Name)
	}
	row["is_identity_column"], row["is_updateable"], row["is_computed_column"] = c.Identity, c.Updatable, c.Computed
	row["is_part_of_unique_key"], row["is_sparse_column_set"] = c.Key, false
	if browse && len(c.Table) > 0 {
		row["source_database"], row["source_table"], row["source_column"] = s.db.Name(), c.Table[len(c.Table)-1], c.Name
		if c.BaseName != "" {
			row["source_column"] = c.BaseName
		}
	}
	row["tds_type_id"], row["tds_length"] = id, length
	if c.Type.IsChar() {
		coll := s.collation(c.Type)
		wire := coll.Wire()
		row["is_case_sensitive"] = !coll.CaseInsensitive
		row["tds_collation_id"] = int64(wire[0]) | int64(wire[1])<<8 | int64(wire[2])<<16 | int64(int8(wire[3]))<<24
		row["tds_collation_sort_id"] = int(wire[4])
	}
	return row
}

// systemTypeName is the type as DDL writes it; an alias type's base type.
func systemTypeName(t value.Type) string {
	if t.ID != value.CLR {
		t.Name = ""
	}
	return t.String()
}

// tdsType is the TDS type and length of a column (MS-TDS 2.2.5.4 Data Type Definitions).
func tdsType(t value.Type) (id, length int) {
	n := t.MaxLength()
	if n < 0 {
		n = 65535
	}
	switch t.ID {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		return 0x26, n
	case value.Bit:
		return 0x68, 1
	case value.Real, value.Float:
		return 0x6D, n
	case value.Money, value.SmallMoney:
		return 0x6E, n
	case value.DateTime, value.SmallDateTime:
		return 0x6F, n
	case value.Decimal:
		return 0x6A, 17
	case value.Numeric:
		return 0x6C, 17
	case value.UniqueIdentifier:
		return 0x24, 16
	case value.Date:
		return 0x28, 3
	case value.Time:
		return 0x29, n
	case value.DateTime2:
		return 0x2A, n
	case value.DateTimeOffset:
		return 0x2B, n
	case value.Char:
		return 0xAF, n
	case value.VarChar:
		return 0xA7, n
	case value.NChar:
		return 0xEF, n
	case value.NVarChar:
		return 0xE7, n
	case value.Binary, value.RowVersion:
		return 0xAD, n
	case value.VarBinary:
		return 0xA5, n
	case value.Text:
		return 0x23, maxBytes
	case value.NText:
		return 0x63, maxBytes - 1
	case value.Image:
		return 0x22, maxBytes
	case value.XML:
		return 0xF1, 0
	case value.Variant:
		return 0x62, 8009
	}
	return 0xF0, n
}

// describe gives the columns of the first result set of a text, which is not run.
func describe(c *exec.Context, text string, params []exec.Param) ([]exec.Column, error) {
	sink := &shape{}
	saved := c.Sink
	c.Sink = sink
	defer func() { c.Sink = saved }()
	if err := c.Exec("SET FMTONLY ON; "+text, params...); err != nil {
		return nil, err
	}
	return sink.cols, sink.err
}

// shape is a sink that keeps the columns of the first result set and the first error.
type shape struct {
	cols []exec.Column
	err  error
}

func (s *shape) Columns(cols []exec.Column) error {
	if s.cols == nil {
		s.cols = slices.Clone(cols)
	}
	return nil
}

func (s *shape) Message(e *sqlerr.Error) error {
	if e.Class > 10 && s.err == nil {
		s.err = e
	}
	return nil
}

func (s *shape) Row([]value.Value) error                 { return nil }
func (s *shape) DoneStatement(uint16, int64, bool) error { return nil }
func (s *shape) Env(int, []byte, []byte) error           { return nil }
func (s *shape) Return(int32) error                      { return nil }
