package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// columnViews registers sys.columns and what belongs to it.
func (r registrar) columnViews() {
	r.view("sys", "columns", columnColumns, (*source).columns)
	r.view("sys", "all_columns", columnColumns, (*source).allColumns)
	r.view("sys", "syscolumns", columnColumns, (*source).columns)
	r.view("sys", "identity_columns", identityColumns, (*source).identities)
	r.view("sys", "computed_columns", computedColumns, (*source).computed)
	r.view("sys", "masked_columns", maskedColumns, (*source).masked)
	r.view("sys", "types", typeColumns, (*source).types)
}

var generatedAlways = map[int]string{
	0: "NOT_APPLICABLE", 1: "AS_ROW_START", 2: "AS_ROW_END", 5: "AS_TRANSACTION_ID_START", 6: "AS_TRANSACTION_ID_END",
	7: "AS_SEQUENCE_NUMBER_START", 8: "AS_SEQUENCE_NUMBER_END",
}

// columnRow is the row of sys.columns of one column.
func (s *source) columnRow(object int32, c *storage.Column) sysrow.Row {
	row := s.typeCells(c.Type)
	row["object_id"], row["name"], row["column_id"] = object, c.Name, c.ID
	row["is_nullable"] = c.Nullable
	row["is_ansi_padded"] = c.Type.IsChar() || c.Type.IsBinary() || c.Type.ID == value.Variant
	row["is_rowguidcol"], row["is_identity"], row["is_computed"] = c.RowGUID, c.Identity != nil, c.Computed != nil
	row["is_replicated"], row["is_merge_published"] = false, false
	if c.Default != nil {
		row["default_object_id"] = c.Default.ID
	}
	row["is_sparse"], row["is_column_set"] = c.Sparse, false
	row["generated_always_type"], row["generated_always_type_desc"] = c.GeneratedAlways, generatedAlways[c.GeneratedAlways]
	row["is_hidden"], row["is_masked"] = c.Hidden, c.Masked != ""
	return row
}

// typeCells fills the columns that describe a type in sys.columns and its relatives.
func (s *source) typeCells(t value.Type) sysrow.Row {
	st := sysrow.TypeRow(t)
	row := sysrow.Row{
		"system_type_id": int(st.System), "user_type_id": st.User, "max_length": sysrow.MaxLength(t),
		"precision": sysrow.Precision(t), "scale": sysrow.Scale(t),
	}
	if t.IsChar() {
		row["collation_name"] = s.collation(t).Name
	}
	return row
}

// collation is the collation of a character type: its own or the database's.
func (s *source) collation(t value.Type) *collate.Collation {
	if t.Coll != nil {
		return t.Coll
	}
	return s.db.Collation
}

func (s *source) columns() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, c := range t.Columns {
				if !yield(s.columnRow(t.ID, c)) {
					return
				}
			}
		}
		for _, o := range s.cat.Objects() {
			if o.Header().Type != "V" || !s.visible(o) {
				continue
			}
			for _, c := range s.moduleColumns(o) {
				if !yield(s.columnRow(o.Header().ID, c)) {
					return
				}
			}
		}
	}
}

// allColumns adds the columns of the system views.
func (s *source) allColumns() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for row := range s.columns() {
			if !yield(row) {
				return
			}
		}
		for i, v := range s.c.Instance().Registry.Views() {
			for j, c := range v.Columns {
				if !yield(s.columnRow(systemViewID(i), viewColumn(j, c))) {
					return
				}
			}
		}
	}
}

// viewColumn describes a column of a system view as a column of a table.
func viewColumn(i int, c exec.Column) *storage.Column {
	return &storage.Column{ID: i + 1, Name: c.Name, Type: c.Type, Nullable: c.Nullable}
}

func (s *source) identities() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, c := range t.Columns {
				if c.Identity == nil {
					continue
				}
				row := s.columnRow(t.ID, c)
				row["seed_value"], row["increment_value"] = c.Identity.Seed, c.Identity.Increment
				row["last_value"] = s.lastIdentity(t.ID)
				row["is_not_for_replication"] = false
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (s *source) computed() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, c := range t.Columns {
				if c.Computed == nil {
					continue
				}
				row := s.columnRow(t.ID, c)
				row["definition"], row["is_persisted"] = c.Computed.Text, c.Computed.Persisted
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (s *source) masked() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, c := range t.Columns {
				if c.Masked == "" {
					continue
				}
				row := s.columnRow(t.ID, c)
				row["masking_function"] = c.Masked
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (s *source) types() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, t := range sysrow.Types {
			row := sysrow.Row{
				"name": t.Name, "system_type_id": int(t.System), "user_type_id": t.User, "schema_id": systemSchemas["sys"],
				"max_length": t.MaxLength, "precision": t.Precision, "scale": t.Scale, "is_nullable": !t.NotNull, "is_assembly_type": t.CLR,
			}
			if t.Collated {
				row["collation_name"] = s.db.Collation.Name
			}
			if !yield(row) {
				return
			}
		}
	}
}
