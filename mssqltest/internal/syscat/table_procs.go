package syscat

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/builtin"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// tableProcs registers the catalog procedures of tables and their keys (Microsoft Learn, "Catalog Stored Procedures").
func (r registrar) tableProcs() {
	r.proc("sp_tables", `@table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
		@table_type varchar(100) = NULL, @fUsePattern bit = 1`, spTables)
	const key = `@table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL`
	r.proc("sp_pkeys", key, spPkeys)
	r.proc("sp_fkeys", `@pktable_name sysname = NULL, @pktable_owner sysname = NULL, @pktable_qualifier sysname = NULL,
		@fktable_name sysname = NULL, @fktable_owner sysname = NULL, @fktable_qualifier sysname = NULL`, spFkeys)
	const stat = `, @index_name sysname = %, @is_unique char(1) = N, @accuracy char(1) = Q`
	r.proc("sp_statistics", key+stat, spStatistics)
	r.proc("sp_statistics_100", key+stat, spStatistics)
	r.proc("sp_special_columns", key+special, spSpecialColumns)
	r.proc("sp_special_columns_90", key+special, spSpecialColumns)
	r.proc("sp_special_columns_100", key+special, spSpecialColumns)
	r.proc("sp_stored_procedures", `@sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier sysname = NULL,
		@fUsePattern bit = 1`, spStoredProcedures)
	r.proc("sp_databases", ``, spDatabases)
}

// proc registers a system procedure.
func (r registrar) proc(name, params string, run func(c *exec.Context, a sysrow.Args) (int32, error)) {
	r.reg.AddProc(sysrow.Proc(name, params, run))
}

// qualified refuses a qualifier that is not the current database.
func (s *source) qualified(name string) error {
	if name != "" && !strings.EqualFold(name, s.db.Name()) {
		return sqlerr.Newf(15250, 16, "The database name component of the object qualifier must be the name of the current database.")
	}
	return nil
}

// matches compares a name with a LIKE pattern, in the collation of the database; an empty pattern matches all.
func (s *source) matches(name, pattern string, usePattern bool) bool {
	if pattern == "" || pattern == "%" {
		return true
	}
	if !usePattern {
		return s.db.Collation.Compare(name, pattern, true) == 0
	}
	return builtin.Like(name, pattern, "", s.db.Collation, true)
}

var spTablesColumns = sysrow.Columns(`TABLE_QUALIFIER sysname?, TABLE_OWNER sysname?, TABLE_NAME sysname?, TABLE_TYPE varchar(32)?, REMARKS varchar(254)?`)

func spTables(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	if q := a.Str(2); q != "" && q != "%" {
		if err := s.qualified(q); err != nil {
			return 1, err
		}
	}
	types := strings.ToUpper(a.Str(3))
	pattern := a.Int(4, 1) != 0
	var rows []sysrow.Row
	add := func(owner, name, kind string) {
		if (types == "" || strings.Contains(types, "'"+kind+"'")) && s.matches(owner, a.Str(1), pattern) && s.matches(name, a.Str(0), pattern) {
			rows = append(rows, sysrow.Row{"TABLE_QUALIFIER": s.db.Name(), "TABLE_OWNER": owner, "TABLE_NAME": name, "TABLE_TYPE": kind})
		}
	}
	for _, o := range s.cat.Objects() {
		kind := map[string]string{"U": "TABLE", "V": "VIEW"}[o.Header().Type]
		if kind != "" && s.visible(o) {
			add(o.Header().Schema, o.Header().Name, kind)
		}
	}
	for _, v := range c.Instance().Registry.Views() {
		if v.Schema != "dbo" {
			add(v.Schema, v.Name, "VIEW")
		}
	}
	slices.SortStableFunc(rows, func(x, y sysrow.Row) int {
		return cmp.Or(cmp.Compare(x["TABLE_TYPE"].(string), y["TABLE_TYPE"].(string)), cmp.Compare(x["TABLE_OWNER"].(string), y["TABLE_OWNER"].(string)),
			cmp.Compare(x["TABLE_NAME"].(string), y["TABLE_NAME"].(string)))
	})
	return 0, sysrow.Emit(c, spTablesColumns, slices.Values(rows))
}

var spPkeysColumns = sysrow.Columns(`TABLE_QUALIFIER sysname?, TABLE_OWNER sysname?, TABLE_NAME sysname, COLUMN_NAME sysname?, KEY_SEQ smallint?, PK_NAME sysname?`)

func spPkeys(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	if err := s.qualified(a.Str(2)); err != nil {
		return 1, err
	}
	return 0, sysrow.Emit(c, spPkeysColumns, func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			pk := t.PrimaryKey()
			if pk == nil || !s.matches(t.Name, a.Str(0), false) || !s.matches(t.Schema, a.Str(1), false) {
				continue
			}
			for i, col := range pk.Columns {
				if !yield(sysrow.Row{
					"TABLE_QUALIFIER": s.db.Name(), "TABLE_OWNER": t.Schema, "TABLE_NAME": t.Name, "COLUMN_NAME": t.Columns[col.Column].Name,
					"KEY_SEQ": i + 1, "PK_NAME": pk.Name,
				}) {
					return
				}
			}
		}
	})
}

var spFkeysColumns = sysrow.Columns(`PKTABLE_QUALIFIER sysname?, PKTABLE_OWNER sysname?, PKTABLE_NAME sysname, PKCOLUMN_NAME sysname,
	FKTABLE_QUALIFIER sysname?, FKTABLE_OWNER sysname?, FKTABLE_NAME sysname, FKCOLUMN_NAME sysname, KEY_SEQ smallint, UPDATE_RULE smallint?,
	DELETE_RULE smallint?, FK_NAME sysname?, PK_NAME sysname?, DEFERRABILITY smallint?`)

// odbcRule is UPDATE_RULE and DELETE_RULE of sp_fkeys: 0 cascade, 1 no action, 2 set null, 3 set default.
func odbcRule(action string) int {
	n, _ := referential(action)
	return [...]int{1, 0, 2, 3}[n]
}

func spFkeys(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	for _, q := range []string{a.Str(2), a.Str(5)} {
		if err := s.qualified(q); err != nil {
			return 1, err
		}
	}
	return 0, sysrow.Emit(c, spFkeysColumns, func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			if !s.matches(t.Name, a.Str(3), false) || !s.matches(t.Schema, a.Str(4), false) {
				continue
			}
			for _, f := range t.ForeignKeys {
				ref := s.table(f.RefTable)
				if ref == nil || !s.matches(ref.Name, a.Str(0), false) || !s.matches(ref.Schema, a.Str(1), false) {
					continue
				}
				for i := range f.Columns {
					row := sysrow.Row{
						"PKTABLE_QUALIFIER": s.db.Name(), "PKTABLE_OWNER": ref.Schema, "PKTABLE_NAME": ref.Name,
						"PKCOLUMN_NAME": ref.Columns[f.RefColumns[i]].Name, "FKTABLE_QUALIFIER": s.db.Name(), "FKTABLE_OWNER": t.Schema,
						"FKTABLE_NAME": t.Name, "FKCOLUMN_NAME": t.Columns[f.Columns[i]].Name, "KEY_SEQ": i + 1,
						"UPDATE_RULE": odbcRule(f.OnUpdate), "DELETE_RULE": odbcRule(f.OnDelete), "FK_NAME": f.Name, "DEFERRABILITY": 7,
					}
					if pk := ref.PrimaryKey(); pk != nil {
						row["PK_NAME"] = pk.Name
					}
					if !yield(row) {
						return
					}
				}
			}
		}
	})
}

var spStatisticsColumns = sysrow.Columns(`TABLE_QUALIFIER sysname?, TABLE_OWNER sysname?, TABLE_NAME sysname, NON_UNIQUE smallint?, INDEX_QUALIFIER sysname?,
	INDEX_NAME sysname?, TYPE smallint, SEQ_IN_INDEX smallint?, COLUMN_NAME sysname?, COLLATION char(1)?, CARDINALITY int?, PAGES int?,
	FILTER_CONDITION varchar(128)?`)

func spStatistics(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	if err := s.qualified(a.Str(2)); err != nil {
		return 1, err
	}
	unique := strings.EqualFold(strings.TrimSpace(a.Str(4)), "Y")
	return 0, sysrow.Emit(c, spStatisticsColumns, func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			if !s.matches(t.Name, a.Str(0), false) || !s.matches(t.Schema, a.Str(1), false) {
				continue
			}
			count := s.rowCount(t.ID)
			base := func() sysrow.Row {
				return sysrow.Row{"TABLE_QUALIFIER": s.db.Name(), "TABLE_OWNER": t.Schema, "TABLE_NAME": t.Name, "TYPE": 0, "CARDINALITY": count, "PAGES": count/50 + 1}
			}
			if !yield(base()) {
				return
			}
			for _, ix := range indexesOf(t) {
				if ix.def == nil || unique && !ix.def.Unique || !s.matches(ix.def.Name, a.Str(3), true) {
					continue
				}
				for i, col := range ix.def.Columns {
					row := base()
					row["NON_UNIQUE"], row["INDEX_QUALIFIER"], row["INDEX_NAME"] = !ix.def.Unique, t.Name, ix.def.Name
					row["TYPE"], row["SEQ_IN_INDEX"], row["COLUMN_NAME"], row["COLLATION"] = 3, i+1, t.Columns[col.Column].Name, "A"
					if ix.def.Clustered {
						row["TYPE"] = 1
					}
					if col.Desc {
						row["COLLATION"] = "D"
					}
					if !yield(row) {
						return
					}
				}
			}
		}
	})
}

const special = `, @col_type char(1) = R, @scope char(1) = T, @nullable char(1) = U, @ODBCVer int = 2`

var spSpecialColumnsColumns = sysrow.Columns(`SCOPE smallint?, COLUMN_NAME sysname, DATA_TYPE smallint?, TYPE_NAME sysname, PRECISION int?, LENGTH int?,
	SCALE smallint?, PSEUDO_COLUMN smallint?`)

// spSpecialColumns gives the columns that identify a row (col_type R): the primary key or else the first unique index;
// or (V) the rowversion column.
func spSpecialColumns(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	if err := s.qualified(a.Str(2)); err != nil {
		return 1, err
	}
	return 0, sysrow.Emit(c, spSpecialColumnsColumns, func(yield func(sysrow.Row) bool) {
		for t := range s.eachTable {
			if !s.matches(t.Name, a.Str(0), false) || !s.matches(t.Schema, a.Str(1), false) {
				continue
			}
			for _, col := range rowIdentity(t, strings.EqualFold(a.Str(3), "V")) {
				o := odbcOf(col.Type)
				if !yield(sysrow.Row{
					"SCOPE": 1, "COLUMN_NAME": col.Name, "DATA_TYPE": o.code(a.Int(6, 2)), "TYPE_NAME": sysrow.TypeRow(col.Type).Name,
					"PRECISION": o.precision, "LENGTH": o.length, "SCALE": o.scale, "PSEUDO_COLUMN": 1,
				}) {
					return
				}
			}
		}
	})
}

var spStoredProceduresColumns = sysrow.Columns(`PROCEDURE_QUALIFIER sysname?, PROCEDURE_OWNER sysname?, PROCEDURE_NAME nvarchar(134), NUM_INPUT_PARAMS int?,
	NUM_OUTPUT_PARAMS int?, NUM_RESULT_SETS int?, REMARKS varchar(254)?, PROCEDURE_TYPE smallint?`)

func spStoredProcedures(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	pattern := a.Int(3, 1) != 0
	return 0, sysrow.Emit(c, spStoredProceduresColumns, func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			h := o.Header()
			if h.Type != "P" || !s.visible(o) || !s.matches(h.Name, a.Str(0), pattern) || !s.matches(h.Schema, a.Str(1), pattern) {
				continue
			}
			if !yield(sysrow.Row{
				"PROCEDURE_QUALIFIER": s.db.Name(), "PROCEDURE_OWNER": h.Schema, "PROCEDURE_NAME": h.Name + ";1", "NUM_INPUT_PARAMS": -1,
				"NUM_OUTPUT_PARAMS": -1, "NUM_RESULT_SETS": -1, "PROCEDURE_TYPE": 2,
			}) {
				return
			}
		}
	})
}

var spDatabasesColumns = sysrow.Columns(`DATABASE_NAME sysname?, DATABASE_SIZE int?, REMARKS varchar(254)?`)

func spDatabases(c *exec.Context, _ sysrow.Args) (int32, error) {
	var rows iter.Seq[sysrow.Row] = func(yield func(sysrow.Row) bool) {
		for _, db := range c.Instance().Storage.Databases() {
			if !yield(sysrow.Row{"DATABASE_NAME": db.Name(), "DATABASE_SIZE": 16384}) {
				return
			}
		}
	}
	return 0, sysrow.Emit(c, spDatabasesColumns, rows)
}
