package syscat

import (
	"slices"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// propertyFunctions registers the functions that ask for a property by its name.
func (r registrar) propertyFunctions() {
	r.scalar("COLUMNPROPERTY", 3, 3, intType, columnProperty, intType, sysnameType, nvarcharType)
	r.scalar("OBJECTPROPERTY", 2, 2, intType, objectProperty, intType, nvarcharType)
	r.scalar("OBJECTPROPERTYEX", 2, 2, variantType, objectProperty, intType, nvarcharType)
	r.scalar("INDEXPROPERTY", 3, 3, intType, indexProperty, intType, sysnameType, nvarcharType)
	r.scalar("TYPEPROPERTY", 2, 2, intType, typeProperty, nvarcharType, nvarcharType)
	r.scalar("DATABASEPROPERTYEX", 2, 2, variantType, databaseProperty, sysnameType, nvarcharType)
	r.scalar("SERVERPROPERTY", 1, 1, variantType, serverProperty, nvarcharType)
	r.scalar("CONNECTIONPROPERTY", 1, 1, variantType, connectionProperty, nvarcharType)
	r.scalar("FULLTEXTSERVICEPROPERTY", 1, 1, intType, func(*source, []value.Value) any { return 0 }, nvarcharType)
	r.scalar("CURRENT_TIMEZONE", 0, 0, sysnameType, func(s *source, _ []value.Value) any { return zoneName(s.c.Instance().Storage.Location()) })
	r.scalar("CURRENT_TIMEZONE_ID", 0, 0, sysnameType, func(s *source, _ []value.Value) any { return zoneID(s.c.Instance().Storage.Location()) })
}

// property reads the name of a property, "" for NULL.
func property(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(v.Str()))
}

func columnProperty(s *source, a []value.Value) any {
	if a[0].IsNull() || a[1].IsNull() {
		return nil
	}
	c := s.columnNamed(int32(a[0].Int()), a[1].Str())
	if c == nil {
		return nil
	}
	switch property(a[2]) {
	case "allowsnull":
		return c.Nullable
	case "columnid":
		return c.ID
	case "iscomputed":
		return c.Computed != nil
	case "isidentity":
		return c.Identity != nil
	case "isidnotforrepl":
		return c.Identity != nil && c.Identity.NotForReplication
	case "isrowguidcol":
		return c.RowGUID
	case "issparse":
		return c.Sparse
	case "iscolumnset", "isxmlindexable", "isfulltextindexed", "isoutparam":
		return false
	case "ishidden":
		return c.Hidden
	case "generatedalwaystype":
		return c.GeneratedAlways
	case "precision":
		if chars, _ := characterLength(c.Type); chars != nil {
			return chars
		}
		return sysrow.Precision(c.Type)
	case "scale":
		return sysrow.Scale(c.Type)
	case "charmaxlen":
		chars, _ := characterLength(c.Type)
		return chars
	case "usesansitrim":
		return c.Type.IsChar() || c.Type.IsBinary()
	case "isdeterministic", "isprecise":
		if c.Computed != nil {
			return true
		}
	}
	return nil
}

// objectKinds maps a property of OBJECTPROPERTY to the object types that have it.
var objectKinds = map[string]string{
	"istable": "U", "isusertable": "U", "isview": "V", "isprocedure": "P", "istrigger": "TR", "isscalarfunction": "FN",
	"isinlinefunction": "IF", "istablefunction": "IF TF", "issystemtable": "S", "isconstraint": "PK UQ F C D", "isprimarykey": "PK",
	"isuniquecnst": "UQ", "isforeignkey": "F", "ischeckcnst": "C", "isdefaultcnst": "D",
}

func objectProperty(s *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	id := int32(a[0].Int())
	o := s.cat.ObjectByID(id)
	if o == nil || !s.visible(o) {
		return nil
	}
	h := o.Header()
	name := property(a[1])
	if kinds, ok := objectKinds[name]; ok {
		for _, k := range strings.Fields(kinds) {
			if k == h.Type {
				return 1
			}
		}
		return 0
	}
	t, isTable := o.(*storage.Table)
	if m, ok := o.(*storage.Module); ok && strings.HasPrefix(name, "exec") {
		if info, ok := exec.ModuleTrigger(m); ok {
			if v := triggerProperty(info, name); v != nil {
				return v
			}
		}
	}
	if isTable && strings.HasPrefix(name, "table") && strings.Contains(name, "trigger") {
		return s.tableTriggers(t.ID(), name)
	}
	switch name {
	case "ismsshipped":
		return shipped(h)
	case "schemaid":
		return h.SchemaID
	case "ownerid":
		return 1
	case "basetype":
		return h.Type
	case "execisquotedidenton", "execisansinullson":
		return 1
	}
	if !isTable {
		return nil
	}
	return tableProperty(t.Def(), name, s)
}

func triggerProperty(info exec.TriggerInfo, name string) any {
	switch name {
	case "execistriggerdisabled":
		return info.Disabled
	case "execisaftertrigger":
		return !info.InsteadOf
	case "execisinsteadoftrigger":
		return info.InsteadOf
	case "execistriggernotforrepl":
		return info.NotForReplication
	case "execisinserttrigger":
		return slices.Contains(info.Events, 1)
	case "execisupdatetrigger":
		return slices.Contains(info.Events, 2)
	case "execisdeletetrigger":
		return slices.Contains(info.Events, 3)
	case "execisfirstinserttrigger", "execisfirstupdatetrigger", "execisfirstdeletetrigger",
		"execislastinserttrigger", "execislastupdatetrigger", "execislastdeletetrigger":
		return 0
	}
	return nil
}

// tableTriggers is TableHas…Trigger, Table…Trigger (the first one) and Table…TriggerCount.
func (s *source) tableTriggers(id int32, name string) any {
	count, first := 0, int32(0)
	for _, m := range s.cat.Children(id) {
		info, ok := exec.ModuleTrigger(m)
		if !ok || info.InsteadOf != strings.Contains(name, "insteadof") {
			continue
		}
		if ev := slices.IndexFunc(triggerEvents[:], func(e string) bool { return e != "" && strings.Contains(name, strings.ToLower(e)) }); ev > 0 && !slices.Contains(info.Events, ev) {
			continue
		}
		count++
		if first == 0 {
			first = m.ID
		}
	}
	switch {
	case strings.HasPrefix(name, "tablehas"):
		return count > 0
	case strings.HasSuffix(name, "count"):
		return count
	}
	return first
}

func tableProperty(d *storage.TableDef, name string, s *source) any {
	var hasIndex, hasUnique bool
	for _, x := range d.Indexes {
		hasIndex, hasUnique = true, hasUnique || x.UniqueConstraint
	}
	var hasDefault, hasVersion, hasText bool
	for _, c := range d.Columns {
		hasDefault, hasVersion = hasDefault || c.Default != nil, hasVersion || c.Type.ID == value.RowVersion
		hasText = hasText || c.Type.ID == value.Text || c.Type.ID == value.NText || c.Type.ID == value.Image
	}
	switch name {
	case "tablehasidentity":
		return d.IdentityColumn() >= 0
	case "tablehasprimarykey":
		return d.PrimaryKey() != nil
	case "tablehasclustindex":
		return d.Clustered() != nil
	case "tablehasindex":
		return hasIndex
	case "tablehasuniquecnst":
		return hasUnique
	case "tablehasforeignkey":
		return len(d.ForeignKeys) > 0
	case "tablehascheckcnst":
		return len(d.Checks) > 0
	case "tablehasdefaultcnst":
		return hasDefault
	case "tablehastimestamp":
		return hasVersion
	case "tablehastextimage":
		return hasText
	case "tabletemporaltype":
		return d.Temporal
	case "tableistracked", "tableisfake":
		return 0
	case "cardinality":
		return s.rowCount(d.ID)
	}
	return nil
}

func indexProperty(s *source, a []value.Value) any {
	if a[0].IsNull() || a[1].IsNull() {
		return nil
	}
	t := s.table(int32(a[0].Int()))
	if t == nil {
		return nil
	}
	for _, x := range t.Indexes {
		if s.db.Collation.Compare(x.Name, a[1].Str(), true) != 0 {
			continue
		}
		switch property(a[2]) {
		case "indexid":
			return x.ID
		case "isclustered":
			return x.Clustered
		case "isunique":
			return x.Unique
		case "isdisabled":
			return x.Disabled
		case "indexdepth":
			return 1
		case "indexfillfactor", "ispadindex", "isstatistics", "isautostatistics", "ishypothetical", "iscolumnstore", "isfulltextkey":
			return 0
		case "isrowlockdisallowed", "ispagelockdisallowed":
			return 0
		}
	}
	return nil
}

func typeProperty(s *source, a []value.Value) any {
	id, ok := typeID(s, a).(int32)
	if !ok {
		return nil
	}
	for _, t := range sysrow.Types {
		if t.User != id {
			continue
		}
		switch property(a[1]) {
		case "precision":
			if t.Precision == 0 {
				return t.MaxLength
			}
			return t.Precision
		case "scale":
			return t.Scale
		case "allowsnull":
			return !t.NotNull
		}
	}
	return nil
}

func databaseProperty(s *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	db := s.c.Instance().Storage.Database(a[0].Str())
	if db == nil {
		return nil
	}
	p := db.Props()
	switch property(a[1]) {
	case "collation":
		return db.Collation.Name
	case "lcid":
		return db.Collation.LCID
	case "sqlsortorder":
		return db.Collation.SortID
	case "status":
		if p.Offline {
			return "OFFLINE"
		}
		return "ONLINE"
	case "updateability":
		if p.ReadOnly || s.root != nil {
			return "READ_ONLY"
		}
		return "READ_WRITE"
	case "useraccess":
		if p.SingleUser {
			return "SINGLE_USER"
		}
		return "MULTI_USER"
	case "recovery":
		return p.Recovery
	case "version":
		return 957
	case "edition":
		return "Developer"
	case "isinstandby", "isautoclose", "isautoshrink", "ispublished", "issubscribed", "isfulltextenabled":
		return 0
	case "issnapshotisolationallowed":
		return p.SnapshotIsolation
	}
	return nil
}

func serverProperty(s *source, a []value.Value) any {
	in := s.c.Instance()
	switch property(a[0]) {
	case "servername":
		return in.ServerName
	case "machinename", "computernamephysicalnetbios":
		host, _, _ := strings.Cut(in.ServerName, `\`)
		return host
	case "edition":
		return "Developer Edition (64-bit)"
	case "editionid":
		return -2117995310
	case "engineedition":
		return 3
	case "productversion":
		return productVersion(in)
	case "productlevel":
		return "RTM"
	case "productmajorversion":
		major, _, _ := strings.Cut(productVersion(in), ".")
		return major
	case "productminorversion":
		return "0"
	case "productbuild":
		if parts := strings.Split(productVersion(in), "."); len(parts) > 2 {
			return parts[2]
		}
	case "collation":
		return in.Storage.Collation().Name
	case "collationid":
		return 872468488
	case "lcid":
		return in.Storage.Collation().LCID
	case "sqlsortorder":
		return in.Storage.Collation().SortID
	case "sqlcharset":
		return 1
	case "sqlcharsetname":
		return "iso_1"
	case "isclustered", "ishadrenabled", "isintegratedsecurityonly", "isfulltextinstalled", "isxtpsupported", "ispolybaseinstalled", "issingleuser",
		"islocaldb", "isadvancedanalyticsinstalled", "isbigdatacluster", "istempdbmetadatamemoryoptimized":
		return 0
	case "processid":
		return 1
	case "buildclrversion":
		return "v4.0.30319"
	case "licensetype":
		return "DISABLED"
	case "resourceversion":
		return productVersion(in)
	}
	return nil
}

// productVersion is the number in @@VERSION, such as 16.0.1000.6.
func productVersion(in *exec.Instance) string {
	for _, f := range strings.Fields(in.Version) {
		if strings.Count(f, ".") == 3 {
			return f
		}
	}
	return "16.0.1000.6"
}

func connectionProperty(_ *source, a []value.Value) any {
	switch property(a[0]) {
	case "net_transport":
		return "TCP"
	case "protocol_type":
		return "TSQL"
	case "auth_scheme":
		return "SQL"
	case "local_net_address", "client_net_address":
		return "127.0.0.1"
	case "local_tcp_port":
		return 1433
	case "physical_net_transport":
		return "TCP"
	}
	return nil
}
