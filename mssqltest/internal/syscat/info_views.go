package syscat

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// infoViews registers INFORMATION_SCHEMA.
func (r registrar) infoViews() {
	const is = "INFORMATION_SCHEMA"
	r.view(is, "TABLES", infoTableColumns, (*source).infoTables)
	r.view(is, "COLUMNS", infoColumnColumns, (*source).infoColumns)
	r.view(is, "TABLE_CONSTRAINTS", infoConstraintColumns, (*source).infoConstraints)
	r.view(is, "KEY_COLUMN_USAGE", infoKeyUsageColumns, (*source).infoKeyUsage)
	r.view(is, "CONSTRAINT_COLUMN_USAGE", infoColumnUsageColumns, (*source).infoKeyUsage)
	r.view(is, "REFERENTIAL_CONSTRAINTS", infoReferentialColumns, (*source).infoReferential)
	r.view(is, "SCHEMATA", infoSchemataColumns, (*source).infoSchemata)
	r.view(is, "VIEWS", infoViewColumns, (*source).infoViewRows)
	r.view(is, "ROUTINES", infoRoutineColumns, (*source).infoRoutines)
}

func (s *source) infoTables() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			h := o.Header()
			kind := map[string]string{"U": "BASE TABLE", "V": "VIEW"}[h.Type]
			if kind == "" || !s.visible(o) {
				continue
			}
			if !yield(sysrow.Row{"TABLE_CATALOG": s.db.Name(), "TABLE_SCHEMA": h.Schema, "TABLE_NAME": h.Name, "TABLE_TYPE": kind}) {
				return
			}
		}
	}
}

// eachColumns yields every visible table and view with its columns.
func (s *source) eachColumns(yield func(*storage.ObjectHeader, []*storage.Column) bool) {
	for _, o := range s.cat.Objects() {
		if !s.visible(o) {
			continue
		}
		var cols []*storage.Column
		if t, ok := o.(*storage.Table); ok {
			cols = t.Def().Columns
		} else if o.Header().Type == "V" {
			cols = s.moduleColumns(o)
		} else {
			continue
		}
		if !yield(o.Header(), cols) {
			return
		}
	}
}

func (s *source) infoColumns() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for h, cols := range s.eachColumns {
			for i, c := range cols {
				if c.Hidden {
					continue
				}
				row := s.infoType(c.Type)
				row["TABLE_CATALOG"], row["TABLE_SCHEMA"], row["TABLE_NAME"] = s.db.Name(), h.Schema, h.Name
				row["COLUMN_NAME"], row["ORDINAL_POSITION"], row["IS_NULLABLE"] = c.Name, i+1, yesNo(c.Nullable)
				if c.Default != nil {
					row["COLUMN_DEFAULT"] = c.Default.Text
				}
				if !yield(row) {
					return
				}
			}
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

// infoType fills the columns that describe a type in INFORMATION_SCHEMA.COLUMNS.
func (s *source) infoType(t value.Type) sysrow.Row {
	st := sysrow.TypeRow(t)
	row := sysrow.Row{"DATA_TYPE": st.Name}
	if st.Alias {
		row["DATA_TYPE"] = sysrow.TypeRow(value.Type{ID: t.ID}).Name
		row["DOMAIN_CATALOG"], row["DOMAIN_SCHEMA"], row["DOMAIN_NAME"] = s.db.Name(), "sys", st.Name
	}
	chars, octets := characterLength(t)
	row["CHARACTER_MAXIMUM_LENGTH"], row["CHARACTER_OCTET_LENGTH"] = chars, octets
	if t.IsChar() {
		row["COLLATION_NAME"], row["CHARACTER_SET_NAME"] = s.collation(t).Name, "iso_1"
		if t.IsUnicode() {
			row["CHARACTER_SET_NAME"] = "UNICODE"
		}
	}
	switch t.ID {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt, value.Decimal, value.Numeric, value.Money, value.SmallMoney:
		row["NUMERIC_PRECISION"], row["NUMERIC_PRECISION_RADIX"], row["NUMERIC_SCALE"] = sysrow.Precision(t), 10, sysrow.Scale(t)
	case value.Float, value.Real:
		row["NUMERIC_PRECISION"], row["NUMERIC_PRECISION_RADIX"] = sysrow.Precision(t), 2
	case value.Date, value.SmallDateTime:
		row["DATETIME_PRECISION"] = 0
	case value.DateTime:
		row["DATETIME_PRECISION"] = 3
	case value.Time, value.DateTime2, value.DateTimeOffset:
		row["DATETIME_PRECISION"] = t.Scale
	}
	return row
}

// characterLength is CHARACTER_MAXIMUM_LENGTH and CHARACTER_OCTET_LENGTH, nil for types that are no strings.
func characterLength(t value.Type) (chars, octets any) {
	switch t.ID {
	case value.Char, value.VarChar, value.Binary, value.VarBinary:
		return t.Len, t.Len
	case value.NChar, value.NVarChar:
		if t.Len == value.Max {
			return -1, -1
		}
		return t.Len, 2 * t.Len
	case value.Text, value.Image:
		return maxBytes, maxBytes
	case value.NText:
		return maxCodeUnits, maxBytes - 1
	case value.XML:
		return -1, -1
	case value.Variant:
		return 0, 0
	}
	return nil, nil
}

var infoConstraintTypes = map[any]string{"PK": "PRIMARY KEY", "UQ": "UNIQUE", "F": "FOREIGN KEY", "C": "CHECK"}

func (s *source) infoConstraints() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for c := range constraints(t) {
				kind := infoConstraintTypes[c["type"]]
				if kind == "" {
					continue
				}
				if !yield(sysrow.Row{
					"CONSTRAINT_CATALOG": s.db.Name(), "CONSTRAINT_SCHEMA": t.Schema, "CONSTRAINT_NAME": c["name"],
					"TABLE_CATALOG": s.db.Name(), "TABLE_SCHEMA": t.Schema, "TABLE_NAME": t.Name, "CONSTRAINT_TYPE": kind,
					"IS_DEFERRABLE": "NO", "INITIALLY_DEFERRED": "NO",
				}) {
					return
				}
			}
		}
	}
}

func (s *source) infoKeyUsage() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			usage := func(name string, n, column int) bool {
				return yield(sysrow.Row{
					"CONSTRAINT_CATALOG": s.db.Name(), "CONSTRAINT_SCHEMA": t.Schema, "CONSTRAINT_NAME": name,
					"TABLE_CATALOG": s.db.Name(), "TABLE_SCHEMA": t.Schema, "TABLE_NAME": t.Name,
					"COLUMN_NAME": t.Columns[column].Name, "ORDINAL_POSITION": n,
				})
			}
			for _, x := range t.Indexes {
				if !x.PrimaryKey && !x.UniqueConstraint {
					continue
				}
				for i, c := range x.Columns {
					if !usage(x.Name, i+1, c.Column) {
						return
					}
				}
			}
			for _, f := range t.ForeignKeys {
				for i, c := range f.Columns {
					if !usage(f.Name, i+1, c) {
						return
					}
				}
			}
		}
	}
}

func (s *source) infoReferential() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, f := range t.ForeignKeys {
				row := sysrow.Row{
					"CONSTRAINT_CATALOG": s.db.Name(), "CONSTRAINT_SCHEMA": t.Schema, "CONSTRAINT_NAME": f.Name,
					"UNIQUE_CONSTRAINT_CATALOG": s.db.Name(), "MATCH_OPTION": "SIMPLE",
				}
				row["UPDATE_RULE"], row["DELETE_RULE"] = referentialRule(f.OnUpdate), referentialRule(f.OnDelete)
				if ref := s.table(f.RefTable); ref != nil {
					row["UNIQUE_CONSTRAINT_SCHEMA"] = ref.Schema
					if pk := ref.PrimaryKey(); pk != nil {
						row["UNIQUE_CONSTRAINT_NAME"] = pk.Name
					}
				}
				if !yield(row) {
					return
				}
			}
		}
	}
}

// referentialRule is an action as INFORMATION_SCHEMA writes it.
func referentialRule(action string) string {
	_, desc := referential(action)
	return strings.ReplaceAll(desc, "_", " ")
}

func (s *source) infoSchemata() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, sc := range s.cat.Schemas() {
			if !yield(sysrow.Row{
				"CATALOG_NAME": s.db.Name(), "SCHEMA_NAME": sc.Name, "SCHEMA_OWNER": s.principalName(s.schemaOwner(sc)),
				"DEFAULT_CHARACTER_SET_NAME": "iso_1",
			}) {
				return
			}
		}
	}
}

func (s *source) infoViewRows() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			m, ok := o.(*storage.Module)
			if !ok || m.Type != "V" || !s.visible(o) {
				continue
			}
			if !yield(sysrow.Row{
				"TABLE_CATALOG": s.db.Name(), "TABLE_SCHEMA": m.Schema, "TABLE_NAME": m.Name, "VIEW_DEFINITION": shorten(m.Text, 4000),
				"CHECK_OPTION": "NONE", "IS_UPDATABLE": "NO",
			}) {
				return
			}
		}
	}
}

func (s *source) infoRoutines() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			m, ok := o.(*storage.Module)
			if !ok || !s.visible(o) {
				continue
			}
			kind := map[string]string{"P": "PROCEDURE", "FN": "FUNCTION", "IF": "FUNCTION", "TF": "FUNCTION"}[m.Type]
			if kind == "" {
				continue
			}
			row := sysrow.Row{
				"SPECIFIC_CATALOG": s.db.Name(), "SPECIFIC_SCHEMA": m.Schema, "SPECIFIC_NAME": m.Name, "ROUTINE_CATALOG": s.db.Name(),
				"ROUTINE_SCHEMA": m.Schema, "ROUTINE_NAME": m.Name, "ROUTINE_TYPE": kind, "ROUTINE_DEFINITION": shorten(m.Text, 4000),
				"CREATED": m.Created, "LAST_ALTERED": m.Modified,
			}
			if m.Type == "IF" || m.Type == "TF" {
				row["DATA_TYPE"] = "TABLE"
			}
			if !yield(row) {
				return
			}
		}
	}
}

// shorten cuts a text to n characters, as the old views do.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		return string(r[:n])
	}
	return s
}
