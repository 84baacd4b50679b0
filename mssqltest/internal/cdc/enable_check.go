package cdc

import (
	"strings"
	"unicode/utf16"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// maxInstanceName is the longest name of a capture instance: the names of its table and functions are made of it.
const maxInstanceName = 100

// enableRequest is a call of sys.sp_cdc_enable_table after its checks.
type enableRequest struct {
	name       string
	source     *storage.Table
	def        *storage.TableDef
	ordinals   []int // captured columns in the order of the source table
	key        *storage.IndexDef
	netChanges bool
	role       string
	filegroup  any
	partition  bool
}

// checkEnable makes the checks of sys.sp_cdc_enable_table in the order in which a server makes them.
func (m *Manager) checkEnable(db *storage.Database, list []*instance, a sysrow.Args) (*enableRequest, error) {
	schema, table := a.Str(0), a.Str(1)
	for i, p := range []string{"@source_schema", "@source_name"} {
		if a.Str(i) == "" {
			return nil, sqlerr.New(22963, p)
		}
	}
	req := &enableRequest{role: a.Str(4), partition: a.Int(8, 1) != 0}
	if !a.Null(4) && req.role == "" {
		return nil, sqlerr.New(22963, "@role_name")
	}
	if !a.Null(7) {
		req.filegroup = a.Str(7)
	}
	o := db.Object(schema, table)
	t, ok := o.(*storage.Table)
	switch {
	case ok && t.Def().Schema == schemaName:
		return nil, sqlerr.New(22974)
	case o != nil && !ok:
		return nil, sqlerr.New(22973, schema, table)
	case !ok:
		return nil, sqlerr.New(22931, schema, table)
	}
	req.source, req.def = t, t.Def()
	if err := req.checkName(db, list, a); err != nil {
		return nil, err
	}
	if len(ofSource(list, t.ID())) >= 2 {
		return nil, sqlerr.New(22962, req.def.Schema, req.def.Name)
	}
	if err := req.checkKey(db, a); err != nil {
		return nil, err
	}
	if err := req.checkColumns(db, a); err != nil {
		return nil, err
	}
	return req, nil
}

// checkName sets the name of the instance: the given one without blanks at its end, else schema_table.
func (r *enableRequest) checkName(db *storage.Database, list []*instance, a sysrow.Args) error {
	r.name = strings.TrimRight(a.Str(2), " ")
	if r.name == "" {
		r.name = r.def.Schema + "_" + r.def.Name
	}
	if len(utf16.Encode([]rune(r.name))) > maxInstanceName {
		return sqlerr.New(22927, r.name)
	}
	i := &instance{name: r.name}
	taken := named(db, list, r.name) != nil
	for _, n := range []string{i.changeTable(), i.allChanges(), i.netFunction()} {
		taken = taken || db.Object(schemaName, n) != nil
	}
	if taken {
		return sqlerr.New(22926, r.name)
	}
	return nil
}

// checkKey finds the index that identifies a row, the given one or the primary key, and whether net changes can be had.
func (r *enableRequest) checkKey(db *storage.Database, a sysrow.Args) error {
	r.key = r.def.PrimaryKey()
	if name := a.Str(5); name != "" {
		r.key = nil
		for _, x := range r.def.Indexes {
			if db.Collation.Compare(x.Name, name, true) == 0 {
				r.key = x
			}
		}
		if r.key == nil {
			return sqlerr.New(22928, name, r.def.Schema, r.def.Name)
		}
		if !r.key.Unique {
			return sqlerr.New(22929, name, r.def.Schema, r.def.Name)
		}
	}
	if r.key != nil {
		for _, k := range r.key.Columns {
			if r.def.Columns[k.Column].Nullable {
				return sqlerr.New(22838, r.key.Name, r.def.Schema, r.def.Name)
			}
		}
	}
	r.netChanges = r.key != nil
	if !a.Null(3) {
		r.netChanges = a.Int(3, 0) != 0
	}
	if r.netChanges && r.key == nil {
		return sqlerr.New(22939)
	}
	return nil
}

var reservedColumns = []string{"__$start_lsn", "__$end_lsn", "__$seqval", "__$operation", "__$update_mask", "__$command_id"}

// checkColumns finds the captured columns: those of the list, else all.
func (r *enableRequest) checkColumns(db *storage.Database, a sysrow.Args) error {
	want := make([]bool, len(r.def.Columns))
	if a.Null(6) || strings.TrimSpace(a.Str(6)) == "" {
		for i := range want {
			want[i] = true
		}
	} else {
		names, ok := splitNames(a.Str(6))
		if !ok {
			return sqlerr.New(22942, r.def.Schema, r.def.Name)
		}
		for _, n := range names {
			i := columnNamed(db, r.def.Columns, n)
			if i < 0 {
				return sqlerr.New(22930, n, r.def.Schema, r.def.Name)
			}
			want[i] = true
		}
	}
	for i, c := range r.def.Columns {
		if !want[i] {
			continue
		}
		for _, reserved := range reservedColumns {
			if strings.EqualFold(c.Name, reserved) {
				return sqlerr.New(22975, r.def.Schema, r.def.Name)
			}
		}
		r.ordinals = append(r.ordinals, i)
	}
	if r.netChanges {
		for _, k := range r.key.Columns {
			if !want[k.Column] {
				return sqlerr.New(22943)
			}
		}
	}
	return nil
}
