package syscat

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

var (
	intType      = value.Type{ID: value.Int}
	smallIntType = value.Type{ID: value.SmallInt}
	sysnameType  = sysrow.TypeNamed("sysname")
	nvarcharType = sysrow.TypeNamed("nvarchar(4000)")
	variantType  = value.Type{ID: value.Variant}
)

// scalar registers a function by one name. Where argument types are given, arguments are converted to them.
func (r registrar) scalar(name string, low, high int, t value.Type, eval func(s *source, a []value.Value) any, args ...value.Type) {
	f := &exec.Scalar{Name: name, Min: low, Max: high, Type: t, ArgTypes: args}
	f.Eval = func(c *exec.Context, a []value.Value) (value.Value, error) {
		return sysrow.Value(eval(sourceOf(c), a), t, c.Instance().Storage.Location())
	}
	r.reg.AddScalar(f)
}

// nameFunctions registers the functions that turn names into ids and ids into names (Microsoft Learn, "Metadata Functions").
func (r registrar) nameFunctions() {
	r.scalar("OBJECT_ID", 1, 2, intType, objectID, nvarcharType, nvarcharType)
	r.scalar("OBJECT_NAME", 1, 2, sysnameType, func(s *source, a []value.Value) any { return s.headerName(a, false) }, intType, intType)
	r.scalar("OBJECT_SCHEMA_NAME", 1, 2, sysnameType, func(s *source, a []value.Value) any { return s.headerName(a, true) }, intType, intType)
	r.scalar("SCHEMA_ID", 0, 1, intType, schemaID, sysnameType)
	r.scalar("SCHEMA_NAME", 0, 1, sysnameType, schemaName, intType)
	r.scalar("DB_ID", 0, 1, smallIntType, databaseID, sysnameType)
	r.scalar("DB_NAME", 0, 1, sysnameType, databaseName, intType)
	r.scalar("ORIGINAL_DB_NAME", 0, 0, sysnameType, func(s *source, _ []value.Value) any { return s.c.Session.Database().Name() })
	r.scalar("COL_NAME", 2, 2, sysnameType, columnName, intType, intType)
	r.scalar("COL_LENGTH", 2, 2, smallIntType, columnLength, nvarcharType, sysnameType)
	r.scalar("INDEX_COL", 3, 3, sysnameType, indexColumn, nvarcharType, intType, intType)
	r.scalar("TYPE_ID", 1, 1, intType, typeID, nvarcharType)
	r.scalar("TYPE_NAME", 1, 1, sysnameType, typeName, intType)
	r.scalar("OBJECT_DEFINITION", 1, 1, value.Type{ID: value.NVarChar, Len: value.Max}, objectDefinition, intType)
	r.scalar("STATS_DATE", 2, 2, sysrow.TypeNamed("datetime"), func(*source, []value.Value) any { return nil }, intType, intType)
}

// objectID is OBJECT_ID(name [, type]).
func objectID(s *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	want := ""
	if len(a) > 1 {
		if a[1].IsNull() {
			return nil
		}
		want = strings.ToUpper(strings.TrimSpace(a[1].Str()))
	}
	name := strings.TrimSpace(a[0].Str())
	if strings.Contains(name, "#") {
		return s.tempID(name, want)
	}
	in, o := s.find(name)
	if o != nil {
		h := o.Header()
		if !in.visible(o) || want != "" && !strings.EqualFold(h.Type, want) {
			return nil
		}
		return h.ID
	}
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) == 0 {
		return nil
	}
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	base := parts[len(parts)-1]
	if schema != "" && (want == "" || want == "V") {
		if v, id := in.systemView(schema, base); v != nil {
			return id
		}
	}
	return in.constraintID(schema, base, want)
}

// tempID finds a temporary table of the session, nil if there is none.
func (s *source) tempID(name, want string) any {
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) == 0 || want != "" && want != "U" {
		return nil
	}
	if o := s.c.Object("dbo", parts[len(parts)-1]); o != nil {
		return o.Header().ID
	}
	return nil
}

// constraintID finds a constraint by its name, nil if there is none.
func (s *source) constraintID(schema, name, want string) any {
	for t := range s.eachTable {
		if schema != "" && s.db.Collation.Compare(t.Schema, schema, true) != 0 {
			continue
		}
		for row := range constraints(t) {
			if s.db.Collation.Compare(row["name"].(string), name, true) == 0 && (want == "" || row["type"] == want) {
				return row["object_id"]
			}
		}
	}
	return nil
}

// inDatabase is the source of the database whose id is an optional argument; nil for an unknown one.
func (s *source) inDatabase(a []value.Value, at int) *source {
	if len(a) <= at {
		return s
	}
	if a[at].IsNull() {
		return nil
	}
	db := s.c.Instance().Storage.DatabaseByID(int(a[at].Int()))
	if db == nil {
		return nil
	}
	return sourceIn(s.c, db)
}

// headerName is OBJECT_NAME and OBJECT_SCHEMA_NAME(id [, database]).
func (s *source) headerName(a []value.Value, schema bool) any {
	in := s.inDatabase(a, 1)
	if in == nil || a[0].IsNull() {
		return nil
	}
	id := int32(a[0].Int())
	if o := in.cat.ObjectByID(id); o != nil && in.visible(o) {
		if schema {
			return o.Header().Schema
		}
		return o.Header().Name
	}
	for i, v := range s.c.Instance().Registry.Views() {
		if systemViewID(i) == id {
			if schema {
				return v.Schema
			}
			return v.Name
		}
	}
	for t := range in.eachTable {
		for row := range constraints(t) {
			if row["object_id"] == id {
				if schema {
					return t.Schema
				}
				return row["name"]
			}
		}
	}
	return nil
}

func schemaID(s *source, a []value.Value) any {
	name := s.who.schema
	if len(a) > 0 {
		if a[0].IsNull() {
			return nil
		}
		name = a[0].Str()
	}
	if sc := s.cat.Schema(name); sc != nil {
		return sc.ID
	}
	return nil
}

func schemaName(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.who.schema
	}
	if a[0].IsNull() {
		return nil
	}
	if sc := s.cat.SchemaByID(int32(a[0].Int())); sc != nil {
		return sc.Name
	}
	return nil
}

func databaseID(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.c.Session.Database().ID
	}
	if a[0].IsNull() {
		return nil
	}
	if db := s.c.Instance().Storage.Database(a[0].Str()); db != nil {
		return db.ID
	}
	return nil
}

func databaseName(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.c.Session.Database().Name()
	}
	if a[0].IsNull() {
		return nil
	}
	if a[0].Int() == 0 {
		return s.c.Session.Database().Name()
	}
	if db := s.c.Instance().Storage.DatabaseByID(int(a[0].Int())); db != nil {
		return db.Name()
	}
	return nil
}

// columnsOf lists the columns of a table or view, a system view included.
func (s *source) columnsOf(id int32) []*storage.Column {
	if o := s.cat.ObjectByID(id); o != nil {
		if t, ok := o.(*storage.Table); ok {
			return t.Def().Columns
		}
		return s.moduleColumns(o)
	}
	for i, v := range s.c.Instance().Registry.Views() {
		if systemViewID(i) == id {
			out := make([]*storage.Column, len(v.Columns))
			for j, c := range v.Columns {
				out[j] = viewColumn(j, c)
			}
			return out
		}
	}
	return nil
}

func columnName(s *source, a []value.Value) any {
	if a[0].IsNull() || a[1].IsNull() {
		return nil
	}
	for _, c := range s.columnsOf(int32(a[0].Int())) {
		if int64(c.ID) == a[1].Int() {
			return c.Name
		}
	}
	return nil
}

// columnLength is COL_LENGTH(table, column): the defined length in bytes.
func columnLength(s *source, a []value.Value) any {
	if a[0].IsNull() || a[1].IsNull() {
		return nil
	}
	in, o := s.find(a[0].Str())
	if o == nil || !in.visible(o) {
		return nil
	}
	if c := in.columnNamed(o.Header().ID, a[1].Str()); c != nil {
		return sysrow.MaxLength(c.Type)
	}
	return nil
}

// columnNamed finds a column of a table or view by its name, nil if there is none.
func (s *source) columnNamed(id int32, name string) *storage.Column {
	for _, c := range s.columnsOf(id) {
		if s.db.Collation.Compare(c.Name, name, true) == 0 {
			return c
		}
	}
	return nil
}

func indexColumn(s *source, a []value.Value) any {
	if a[0].IsNull() || a[1].IsNull() || a[2].IsNull() {
		return nil
	}
	t := s.tableNamed(a[0].Str())
	if t == nil {
		return nil
	}
	n := int(a[2].Int())
	for _, x := range t.Indexes {
		if int64(x.ID) == a[1].Int() && n >= 1 && n <= len(x.Columns) {
			return t.Columns[x.Columns[n-1].Column].Name
		}
	}
	return nil
}

func typeID(_ *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	parts, err := exec.SplitName(a[0].Str())
	if err != nil || len(parts) == 0 {
		return nil
	}
	name := parts[len(parts)-1]
	if strings.EqualFold(name, "rowversion") {
		name = "timestamp"
	}
	for _, t := range sysrow.Types {
		if strings.EqualFold(t.Name, name) {
			return t.User
		}
	}
	return nil
}

func typeName(_ *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	for _, t := range sysrow.Types {
		if int64(t.User) == a[0].Int() {
			return t.Name
		}
	}
	return nil
}

func objectDefinition(s *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	id := int32(a[0].Int())
	o := s.cat.ObjectByID(id)
	if m, ok := o.(*storage.Module); ok && s.visible(o) {
		return m.Text
	}
	for t := range s.eachTable {
		for row := range constraints(t) {
			if row["object_id"] == id {
				return row["definition"]
			}
		}
	}
	return nil
}
