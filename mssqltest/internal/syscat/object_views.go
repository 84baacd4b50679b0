package syscat

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// objectViews registers sys.objects and the views of one kind of object.
func (r registrar) objectViews() {
	r.view("sys", "objects", objectColumns, (*source).objects)
	r.view("sys", "all_objects", objectColumns, (*source).allObjects)
	r.view("sys", "tables", tableColumns, (*source).tables)
	r.view("sys", "views", viewColumns, func(s *source) iter.Seq[sysrow.Row] { return s.ofType("V") })
	r.view("sys", "all_views", viewColumns, func(s *source) iter.Seq[sysrow.Row] { return s.ofType("V") })
	r.view("sys", "procedures", procedureColumns, func(s *source) iter.Seq[sysrow.Row] { return s.ofType("P") })
	r.view("sys", "synonyms", synonymColumns, func(s *source) iter.Seq[sysrow.Row] { return s.ofType("SN") })
	r.view("sys", "triggers", triggerColumns, (*source).triggers)
	r.view("sys", "trigger_events", triggerEventColumns, (*source).triggerEvents)
	r.view("sys", "schemas", schemaColumns, (*source).schemas)
	r.view("sys", "sql_modules", moduleColumns, (*source).modules)
	r.view("sys", "all_sql_modules", moduleColumns, (*source).modules)
	r.view("sys", "sysobjects", sysobjectColumns, (*source).sysobjects)
	r.view("dbo", "sysobjects", sysobjectColumns, (*source).sysobjects)
	r.empty("sys", "parameters", parameterColumns)
	r.empty("sys", "extended_properties", extendedPropertyColumns)
	r.empty("sys", "fulltext_catalogs", fullTextColumns)
}

// headerRow fills the columns that sys.objects and its sub-views share.
func headerRow(h *storage.ObjectHeader) sysrow.Row {
	return sysrow.Row{
		"name": h.Name, "object_id": h.ID, "schema_id": h.SchemaID, "parent_object_id": h.Parent, "type": h.Type,
		"type_desc": objectTypes[h.Type], "create_date": h.Created, "modify_date": h.Modified, "is_ms_shipped": shipped(h),
	}
}

// shipped reports whether an object was made by the server itself: those of change data capture are.
func shipped(h *storage.ObjectHeader) bool { return h.Schema == "cdc" }

// eachTable yields the user tables that the session may see.
func (s *source) eachTable(yield func(*storage.TableDef) bool) {
	for _, o := range s.cat.Objects() {
		t, ok := o.(*storage.Table)
		if !ok || !s.visible(o) {
			continue
		}
		if !yield(t.Def()) {
			return
		}
	}
}

func (s *source) objects() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			if s.visible(o) && !yield(headerRow(o.Header())) {
				return
			}
		}
		for t := range s.eachTable {
			for row := range constraints(t) {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// allObjects adds the system views to the objects of the database.
func (s *source) allObjects() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for row := range s.objects() {
			if !yield(row) {
				return
			}
		}
		for i, v := range s.c.Instance().Registry.Views() {
			row := sysrow.Row{
				"name": v.Name, "object_id": systemViewID(i), "schema_id": systemSchemas[v.Schema], "type": "V", "type_desc": "VIEW",
				"create_date": s.db.CreateDate, "modify_date": s.db.CreateDate, "is_ms_shipped": true,
			}
			if !yield(row) {
				return
			}
		}
	}
}

var temporalTypes = map[int]string{0: "NON_TEMPORAL_TABLE", 1: "HISTORY_TABLE", 2: "SYSTEM_VERSIONED_TEMPORAL_TABLE"}

// systemViewID is the object id of the i-th registered view; system objects have negative ids.
func systemViewID(i int) int32 { return int32(-1000 - i) }

// systemSchemas are the schemas that hold the server's own views.
var systemSchemas = map[string]int{"dbo": 1, "INFORMATION_SCHEMA": 3, "sys": 4}

func (s *source) tables() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			row := headerRow(&t.ObjectHeader)
			most := 0
			for _, c := range t.Columns {
				most = max(most, c.ID)
			}
			row["max_column_id_used"] = most
			row["uses_ansi_nulls"] = true
			row["is_replicated"], row["has_replication_filter"], row["is_sync_tran_subscribed"] = false, false, false
			row["text_in_row_limit"], row["large_value_types_out_of_row"] = 0, false
			row["is_tracked_by_cdc"] = t.TrackedByCDC
			row["lock_escalation"], row["lock_escalation_desc"] = 0, "TABLE"
			if t.NoEscalation {
				row["lock_escalation"], row["lock_escalation_desc"] = 1, "DISABLE"
			}
			row["is_filetable"], row["is_memory_optimized"], row["durability"], row["durability_desc"] = false, false, 0, "SCHEMA_AND_DATA"
			row["temporal_type"], row["temporal_type_desc"] = t.Temporal, temporalTypes[t.Temporal]
			row["is_remote_data_archive_enabled"], row["is_node"], row["is_edge"] = false, false, false
			row["ledger_type"], row["ledger_type_desc"] = 0, "NON_LEDGER_TABLE"
			if !yield(row) {
				return
			}
		}
	}
}

// ofType yields the objects of one type with the columns of sys.objects.
func (s *source) ofType(typ string) iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			h := o.Header()
			if h.Type == typ && s.visible(o) && !yield(headerRow(h)) {
				return
			}
		}
	}
}

func (s *source) schemas() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, sc := range s.cat.Schemas() {
			if !yield(sysrow.Row{"name": sc.Name, "schema_id": sc.ID, "principal_id": s.schemaOwner(sc)}) {
				return
			}
		}
	}
}

func (s *source) modules() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			m, ok := o.(*storage.Module)
			if !ok || !s.visible(o) {
				continue
			}
			row := sysrow.Row{
				"object_id": m.ID, "definition": m.Text, "uses_ansi_nulls": true, "uses_quoted_identifier": true, "is_schema_bound": false,
				"uses_database_collation": false, "is_recompiled": false, "null_on_null_input": false, "uses_native_compilation": false,
				"is_inlineable": false,
			}
			if !yield(row) {
				return
			}
		}
	}
}

// sysobjects is the view of SQL Server 2000 that old clients still read.
func (s *source) sysobjects() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for row := range s.allObjects() {
			old := sysrow.Row{
				"name": row["name"], "id": row["object_id"], "xtype": row["type"], "uid": row["schema_id"], "type": row["type"],
				"parent_obj": row["parent_object_id"], "crdate": row["create_date"], "refdate": row["create_date"],
			}
			if !yield(old) {
				return
			}
		}
	}
}

// triggers yields the DML triggers.
func (s *source) triggers() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			h := o.Header()
			if h.Type != "TR" || !s.visible(o) {
				continue
			}
			row := headerRow(h)
			row["parent_class"], row["parent_class_desc"], row["parent_id"] = 1, "OBJECT_OR_COLUMN", h.Parent
			if info, ok := exec.ModuleTrigger(o.(*storage.Module)); ok {
				row["is_disabled"], row["is_not_for_replication"], row["is_instead_of_trigger"] = info.Disabled, info.NotForReplication, info.InsteadOf
			}
			if !yield(row) {
				return
			}
		}
	}
}

var triggerEvents = [...]string{1: "INSERT", 2: "UPDATE", 3: "DELETE"}

// triggerEvents yields what the DML triggers react to.
func (s *source) triggerEvents() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			m, ok := o.(*storage.Module)
			if !ok || !s.visible(o) {
				continue
			}
			info, ok := exec.ModuleTrigger(m)
			if !ok {
				continue
			}
			for _, ev := range info.Events {
				row := sysrow.Row{"object_id": m.ID, "type": ev, "type_desc": triggerEvents[ev], "is_first": false, "is_last": false, "is_trigger_event": true}
				if !yield(row) {
					return
				}
			}
		}
	}
}

// quoteName brackets a name.
func quoteName(s string) string { return "[" + strings.ReplaceAll(s, "]", "]]") + "]" }
