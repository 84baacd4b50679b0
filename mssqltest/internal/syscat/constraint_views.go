package syscat

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// constraintViews registers the views of keys, checks, defaults and foreign keys.
func (r registrar) constraintViews() {
	r.view("sys", "key_constraints", keyConstraintColumns, func(s *source) iter.Seq[sysrow.Row] { return s.constraintsOf("PK", "UQ") })
	r.view("sys", "check_constraints", checkConstraintColumns, func(s *source) iter.Seq[sysrow.Row] { return s.constraintsOf("C") })
	r.view("sys", "default_constraints", defaultConstraintColumns, func(s *source) iter.Seq[sysrow.Row] { return s.constraintsOf("D") })
	r.view("sys", "foreign_keys", foreignKeyColumns, func(s *source) iter.Seq[sysrow.Row] { return s.constraintsOf("F") })
	r.view("sys", "foreign_key_columns", foreignKeyColumnColumns, (*source).foreignKeyColumns)
}

// constraintRow is the row of sys.objects of a constraint of a table.
func constraintRow(t *storage.TableDef, id int32, name, typ string) sysrow.Row {
	return sysrow.Row{
		"name": name, "object_id": id, "schema_id": t.SchemaID, "parent_object_id": t.ID, "type": typ, "type_desc": objectTypes[typ],
		"create_date": t.Created, "modify_date": t.Modified, "is_ms_shipped": shipped(&t.ObjectHeader),
	}
}

// constraints yields the constraints of a table, each with the cells of sys.objects and of its own view.
func constraints(t *storage.TableDef) iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, x := range t.Indexes {
			if !x.PrimaryKey && !x.UniqueConstraint {
				continue
			}
			typ := "UQ"
			if x.PrimaryKey {
				typ = "PK"
			}
			row := constraintRow(t, x.ObjectID, x.Name, typ)
			row["unique_index_id"], row["is_enforced"] = x.ID, true
			if !yield(row) {
				return
			}
		}
		for _, c := range t.Columns {
			if c.Default == nil {
				continue
			}
			row := constraintRow(t, c.Default.ID, c.Default.Name, "D")
			row["parent_column_id"], row["definition"] = c.ID, c.Default.Text
			if !yield(row) {
				return
			}
		}
		for _, c := range t.Checks {
			row := constraintRow(t, c.ID, c.Name, "C")
			row["definition"], row["is_disabled"], row["is_not_trusted"], row["uses_database_collation"] = c.Text, c.Disabled, c.NotTrusted(), true
			if !yield(row) {
				return
			}
		}
		for _, f := range t.ForeignKeys {
			row := constraintRow(t, f.ID, f.Name, "F")
			row["referenced_object_id"], row["key_index_id"] = f.RefTable, 1
			row["is_disabled"], row["is_not_trusted"] = f.Disabled, f.NotTrusted()
			row["delete_referential_action"], row["delete_referential_action_desc"] = referential(f.OnDelete)
			row["update_referential_action"], row["update_referential_action_desc"] = referential(f.OnUpdate)
			if !yield(row) {
				return
			}
		}
	}
}

// referential numbers an ON DELETE or ON UPDATE action.
func referential(action string) (int, string) {
	switch strings.ToUpper(strings.NewReplacer(" ", "", "_", "").Replace(action)) {
	case "CASCADE":
		return 1, "CASCADE"
	case "SETNULL":
		return 2, "SET_NULL"
	case "SETDEFAULT":
		return 3, "SET_DEFAULT"
	}
	return 0, "NO_ACTION"
}

func (s *source) constraintsOf(types ...string) iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for row := range constraints(t) {
				for _, typ := range types {
					if row["type"] == typ && !yield(row) {
						return
					}
				}
			}
		}
	}
}

func (s *source) foreignKeyColumns() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			for _, f := range t.ForeignKeys {
				ref := s.table(f.RefTable)
				if ref == nil {
					continue
				}
				for i := range f.Columns {
					if !yield(sysrow.Row{
						"constraint_object_id": f.ID, "constraint_column_id": i + 1, "parent_object_id": t.ID,
						"parent_column_id": t.Columns[f.Columns[i]].ID, "referenced_object_id": f.RefTable,
						"referenced_column_id": ref.Columns[f.RefColumns[i]].ID,
					}) {
						return
					}
				}
			}
		}
	}
}

// table finds the definition of a table by its id, nil if there is none.
func (s *source) table(id int32) *storage.TableDef {
	if t, ok := s.cat.ObjectByID(id).(*storage.Table); ok {
		return t.Def()
	}
	return nil
}
