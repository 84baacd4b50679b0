package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// indexViews registers sys.indexes, the constraints and the row counts.
func (r registrar) indexViews() {
	r.view("sys", "indexes", indexColumns, (*source).indexes)
	r.view("sys", "index_columns", indexColumnColumns, (*source).indexColumns)
	r.view("sys", "stats", statsColumns, (*source).stats)
	r.view("sys", "partitions", partitionColumns, (*source).partitions)
	r.view("sys", "dm_db_partition_stats", partitionStatsColumns, (*source).partitions)
	r.view("sys", "sysindexes", sysindexColumns, (*source).sysindexes)
	r.view("dbo", "sysindexes", sysindexColumns, (*source).sysindexes)
}

// index is an index of a table with its index_id; a heap is index 0.
type index struct {
	id  int
	def *storage.IndexDef // nil for a heap
}

// indexesOf lists the indexes of a table; a table without a clustered index begins with its heap.
func indexesOf(t *storage.TableDef) []index {
	out := make([]index, 0, len(t.Indexes)+1)
	if t.Clustered() == nil {
		out = append(out, index{})
	}
	for _, d := range t.Indexes {
		out = append(out, index{id: d.ID, def: d})
	}
	return out
}

// eachIndex yields every index of every visible table.
func (s *source) eachIndex(yield func(*storage.TableDef, index) bool) {
	for t := range s.eachTable {
		for _, ix := range indexesOf(t) {
			if !yield(t, ix) {
				return
			}
		}
	}
}

func (s *source) indexes() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t, ix := range s.eachIndex {
			row := sysrow.Row{
				"object_id": t.ID, "index_id": ix.id, "type": 0, "type_desc": "HEAP", "is_unique": false, "data_space_id": 1,
				"ignore_dup_key": false, "is_primary_key": false, "is_unique_constraint": false, "is_padded": false, "is_disabled": false,
				"is_hypothetical": false, "is_ignored_in_optimization": false, "allow_row_locks": true, "allow_page_locks": true,
				"has_filter": false, "suppress_dup_key_messages": false, "auto_created": false, "optimize_for_sequential_key": false,
			}
			if d := ix.def; d != nil {
				row["name"], row["is_unique"], row["is_primary_key"] = d.Name, d.Unique, d.PrimaryKey
				row["is_unique_constraint"], row["is_disabled"] = d.UniqueConstraint, d.Disabled
				row["type"], row["type_desc"] = 2, "NONCLUSTERED"
				if d.Clustered {
					row["type"], row["type_desc"] = 1, "CLUSTERED"
				}
				if d.FilterText != "" {
					row["has_filter"], row["filter_definition"] = true, d.FilterText
				}
			}
			if !yield(row) {
				return
			}
		}
	}
}

func (s *source) indexColumns() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t, ix := range s.eachIndex {
			if ix.def == nil {
				continue
			}
			n := 0
			for _, c := range ix.def.Columns {
				n++
				if !yield(sysrow.Row{
					"object_id": t.ID, "index_id": ix.id, "index_column_id": n, "column_id": t.Columns[c.Column].ID, "key_ordinal": n,
					"is_descending_key": c.Desc, "is_included_column": false,
				}) {
					return
				}
			}
			for _, c := range ix.def.Include {
				n++
				if !yield(sysrow.Row{
					"object_id": t.ID, "index_id": ix.id, "index_column_id": n, "column_id": t.Columns[c].ID,
					"is_descending_key": false, "is_included_column": true,
				}) {
					return
				}
			}
		}
	}
}

func (s *source) stats() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t, ix := range s.eachIndex {
			if ix.def != nil && !yield(sysrow.Row{
				"object_id": t.ID, "name": ix.def.Name, "stats_id": ix.id, "auto_created": false, "user_created": false,
				"no_recompute": false, "has_filter": ix.def.FilterText != "",
			}) {
				return
			}
		}
	}
}

// partitions serves sys.partitions and sys.dm_db_partition_stats: every index has one partition.
func (s *source) partitions() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t, ix := range s.eachIndex {
			id := int64(t.ID)<<16 + int64(ix.id)
			rows := s.rowCount(t.ID)
			pages := rows/50 + 1
			if !yield(sysrow.Row{
				"partition_id": id, "object_id": t.ID, "index_id": ix.id, "partition_number": 1, "hobt_id": id, "rows": rows,
				"data_compression_desc": "NONE", "row_count": rows, "in_row_data_page_count": pages, "in_row_used_page_count": pages,
				"in_row_reserved_page_count": pages, "lob_used_page_count": 0, "lob_reserved_page_count": 0,
				"row_overflow_used_page_count": 0, "row_overflow_reserved_page_count": 0, "used_page_count": pages,
				"reserved_page_count": pages,
			}) {
				return
			}
		}
	}
}

// sysindexes is the view of SQL Server 2000 that old clients still read for row counts.
func (s *source) sysindexes() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t, ix := range s.eachIndex {
			rows := s.rowCount(t.ID)
			row := sysrow.Row{"id": t.ID, "indid": ix.id, "rowcnt": rows, "rows": rows, "dpages": rows/50 + 1}
			if ix.def != nil {
				row["name"], row["keycnt"] = ix.def.Name, len(ix.def.Columns)
			}
			if !yield(row) {
				return
			}
		}
	}
}
