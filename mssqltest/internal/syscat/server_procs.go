package syscat

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// serverProcs registers the procedures of sessions, settings and roles.
func (r registrar) serverProcs() {
	r.proc("sp_who", `@loginame sysname = NULL`, spWho)
	r.proc("sp_configure", `@configname varchar(35) = NULL, @configvalue int = NULL`, r.spConfigure)
	r.proc("sp_tableoption", `@TableNamePattern nvarchar(776), @OptionName varchar(35), @OptionValue varchar(12)`, spTableOption)
	r.proc("sp_addrolemember", `@rolename sysname, @membername sysname`, roleMembership((*storage.Security).AddMember))
	r.proc("sp_droprolemember", `@rolename sysname, @membername sysname`, roleMembership((*storage.Security).DropMember))
	r.proc("sp_addrole", `@rolename sysname, @ownername sysname = NULL`, spAddRole)
	r.proc("sp_droprole", `@rolename sysname`, spDropRole)
	r.proc("sp_grantdbaccess", `@loginame sysname, @name_in_db sysname = NULL`, spGrantAccess)
	r.proc("sp_adduser", `@loginame sysname, @name_in_db sysname = NULL, @grpname sysname = NULL`, spGrantAccess)
	r.proc("sp_addlogin", `@loginame sysname, @passwd sysname = NULL, @defdb sysname = master, @deflanguage sysname = NULL`, spAddLogin)
	r.proc("sp_addsrvrolemember", `@loginame sysname, @rolename sysname = NULL`, spServerRole)
	r.proc("sp_changedbowner", `@loginame sysname, @map varchar(5) = NULL`, accepted)
	r.proc("sp_updatestats", `@resample char(8) = NO`, accepted)
	r.proc("sp_recompile", `@objname nvarchar(776)`, accepted)
	r.proc("sp_dboption", `@dbname sysname = NULL, @optname varchar(35) = NULL, @optvalue varchar(10) = NULL`, accepted)
	r.proc("sp_set_session_context", `@key sysname, @value sql_variant, @read_only bit = 0`, setSessionContext)
	r.proc("sp_server_info", `@attribute_id int = NULL`, spServerInfo)
	r.proc("sp_helpdb", `@dbname sysname = NULL`, spHelpDB)
	r.proc("sp_spaceused", `@objname nvarchar(776) = NULL, @updateusage varchar(5) = false`, spSpaceUsed)
}

// accepted does nothing and succeeds.
func accepted(*exec.Context, sysrow.Args) (int32, error) { return 0, nil }

// mayAdminister refuses everyone but db_owner (and sysadmin) with 15247.
func mayAdminister(c *exec.Context) error {
	if sourceOf(c).permitted(storage.ClassDatabase, nil, 0, "CONTROL") {
		return nil
	}
	return sqlerr.Newf(15247, 16, "User does not have permission to perform this action.")
}

// mayAdministerServer refuses everyone but sysadmin with 15247.
func mayAdministerServer(c *exec.Context) error {
	if c.Session.IsSysadmin() {
		return nil
	}
	return sqlerr.Newf(15247, 16, "User does not have permission to perform this action.")
}

var spWhoColumns = sysrow.Columns(`spid smallint, ecid smallint, status nchar(30), loginame nchar(128)?, hostname nchar(128), blk char(5),
	dbname nchar(128)?, cmd nchar(26), request_id int`)

func spWho(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	blocked := s.waits()
	return 0, sysrow.Emit(c, spWhoColumns, func(yield func(sysrow.Row) bool) {
		for _, x := range s.seen() {
			if !a.Null(0) && !strings.EqualFold(a.Str(0), x.Login()) && !strings.EqualFold(a.Str(0), "active") {
				continue
			}
			row := sysrow.Row{
				"spid": x.SPID(), "status": status(x), "loginame": x.Login(), "hostname": x.HostName(), "blk": itoa(blocked[x.SPID()].by),
				"cmd": "AWAITING COMMAND",
			}
			if db := c.Instance().Storage.DatabaseByID(s.statusOf(x).Database); db != nil {
				row["dbname"] = db.Name()
			}
			if x.Running() {
				row["cmd"] = "SELECT"
			}
			if !yield(row) {
				return
			}
		}
	})
}

var spConfigureColumns = sysrow.Columns(`name nvarchar(35), minimum int?, maximum int?, config_value int?, run_value int?`)

// spConfigure shows the settings, or changes one; a change holds at once, RECONFIGURE is not waited for.
func (r registrar) spConfigure(c *exec.Context, a sysrow.Args) (int32, error) {
	var found []option
	for _, o := range r.config.list() {
		if a.Null(0) || strings.HasPrefix(strings.ToLower(o.name), strings.ToLower(a.Str(0))) {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return 1, sqlerr.Newf(15123, 16, "The configuration option '%s' does not exist, or it may be an advanced option.", a.Str(0))
	}
	if a.Null(1) {
		slices.SortFunc(found, func(x, y option) int { return strings.Compare(x.name, y.name) })
		return 0, sysrow.Emit(c, spConfigureColumns, func(yield func(sysrow.Row) bool) {
			for _, o := range found {
				if !yield(sysrow.Row{"name": o.name, "minimum": o.lowest, "maximum": o.highest, "config_value": o.value, "run_value": o.running}) {
					return
				}
			}
		})
	}
	if err := mayAdministerServer(c); err != nil {
		return 1, err
	}
	if len(found) > 1 {
		return 1, sqlerr.Newf(15124, 16, "The configuration option '%s' is not unique.", a.Str(0))
	}
	value := a.Int(1, 0)
	old, ok := r.config.set(found[0].name, value)
	if !ok {
		return 1, sqlerr.Newf(15129, 16, "'%d' is not a valid value for configuration option '%s'.", value, found[0].name)
	}
	if h := c.Instance().Hooks.Configure; h != nil {
		h(found[0].name, value)
	}
	e := sqlerr.Newf(15457, 0, "Configuration option '%s' changed from %d to %d. Run the RECONFIGURE statement to install.", found[0].name, old, value)
	return 0, c.Sink.Message(e)
}

// spTableOption accepts the options of a table that have no effect here; the table must exist.
func spTableOption(c *exec.Context, a sysrow.Args) (int32, error) {
	if sourceOf(c).tableNamed(a.Str(0)) == nil {
		return 1, sqlerr.Newf(15388, 11, "There is no user table matching the input name '%s' in the current database or you do not have permission to access the table.", a.Str(0))
	}
	return 0, nil
}

func roleMembership(f func(*storage.Security, int, string, string) error) func(*exec.Context, sysrow.Args) (int32, error) {
	return func(c *exec.Context, a sysrow.Args) (int32, error) {
		if err := mayAdminister(c); err != nil {
			return 1, err
		}
		if err := f(c.Instance().Storage.Logins, c.DB.ID, a.Str(0), a.Str(1)); err != nil {
			return 1, err
		}
		return 0, nil
	}
}

// createPrincipal adds a user or a role to the current database.
func createPrincipal(c *exec.Context, p storage.Principal) (int32, error) {
	if err := mayAdminister(c); err != nil {
		return 1, err
	}
	if _, err := c.Instance().Storage.Logins.CreatePrincipal(c.DB.ID, p); err != nil {
		return 1, err
	}
	return 0, nil
}

func spAddRole(c *exec.Context, a sysrow.Args) (int32, error) {
	return createPrincipal(c, storage.Principal{Name: a.Str(0), Type: "R"})
}

func spDropRole(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := mayAdminister(c); err != nil {
		return 1, err
	}
	if err := c.Instance().Storage.Logins.DropPrincipal(c.DB.ID, a.Str(0)); err != nil {
		return 1, err
	}
	return 0, nil
}

func spGrantAccess(c *exec.Context, a sysrow.Args) (int32, error) {
	name := a.Str(1)
	if name == "" {
		name = a.Str(0)
	}
	if status, err := createPrincipal(c, storage.Principal{Name: name, Type: "S", Login: a.Str(0)}); err != nil {
		return status, err
	}
	if len(a.Vals) > 2 && !a.Null(2) {
		if err := c.Instance().Storage.Logins.AddMember(c.DB.ID, a.Str(2), name); err != nil {
			return 1, err
		}
	}
	return 0, nil
}

func spAddLogin(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := mayAdministerServer(c); err != nil {
		return 1, err
	}
	if err := c.Instance().Storage.Logins.CreateLogin(storage.Login{Name: a.Str(0), DefaultDatabase: a.Str(2)}, a.Str(1)); err != nil {
		return 1, err
	}
	return 0, nil
}

func spServerRole(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := mayAdministerServer(c); err != nil {
		return 1, err
	}
	role := strings.ToLower(a.Str(1))
	err := c.Instance().Storage.Logins.AlterLogin(a.Str(0), func(l *storage.Login) {
		if role == "sysadmin" {
			l.Sysadmin = true
		} else {
			l.ServerRoles = append(slices.Clone(l.ServerRoles), role)
		}
	})
	if err != nil {
		return 1, err
	}
	return 0, nil
}

var spServerInfoColumns = sysrow.Columns(`attribute_id int, attribute_name varchar(60), attribute_value varchar(255)?`)

func spServerInfo(c *exec.Context, a sysrow.Args) (int32, error) {
	facts := []struct {
		id          int
		name, value string
	}{
		{1, "DBMS_NAME", "Microsoft SQL Server"}, {2, "DBMS_VER", "Microsoft SQL Server " + productVersion(c.Instance())}, {10, "OWNER_TERM", "owner"},
		{11, "TABLE_TERM", "table"}, {12, "MAX_OWNER_NAME_LENGTH", "128"}, {13, "TABLE_LENGTH", "128"}, {14, "MAX_QUAL_LENGTH", "128"},
		{15, "COLUMN_LENGTH", "128"}, {16, "IDENTIFIER_CASE", "MIXED"}, {17, "TX_ISOLATION", "2"},
		{18, "COLLATION_SEQ", "charset=iso_1 sort_order=nocase_iso charset_num=1 sort_order_num=52"}, {19, "SAVEPOINT_SUPPORT", "Y"},
		{20, "MULTI_RESULT_SETS", "Y"}, {22, "ACCESSIBLE_TABLES", "Y"}, {100, "USERID_LENGTH", "128"}, {101, "QUALIFIER_TERM", "database"},
		{102, "NAMED_TRANSACTIONS", "Y"}, {103, "SPROC_AS_LANGUAGE", "Y"}, {104, "ACCESSIBLE_SPROC", "Y"}, {105, "MAX_INDEX_COLS", "16"},
		{106, "RENAME_TABLE", "Y"}, {107, "RENAME_COLUMN", "Y"}, {108, "DROP_COLUMN", "Y"}, {109, "INCREASE_COLUMN_LENGTH", "Y"},
		{110, "DDL_IN_TRANSACTION", "Y"}, {111, "DESCENDING_INDEXES", "Y"}, {112, "SP_RENAME", "Y"}, {113, "REMOTE_SPROC", "Y"}, {500, "SYS_SPROC_VERSION", "16.00.1000"},
	}
	return 0, sysrow.Emit(c, spServerInfoColumns, func(yield func(sysrow.Row) bool) {
		for _, f := range facts {
			if (a.Null(0) || a.Int(0, 0) == int64(f.id)) && !yield(sysrow.Row{"attribute_id": f.id, "attribute_name": f.name, "attribute_value": f.value}) {
				return
			}
		}
	})
}

var spHelpDBColumns = sysrow.Columns(`name sysname, db_size nvarchar(13)?, owner sysname?, dbid smallint, created nvarchar(11)?, status nvarchar(600)?, compatibility_level tinyint?`)

func spHelpDB(c *exec.Context, a sysrow.Args) (int32, error) {
	if !a.Null(0) && c.Instance().Storage.Database(a.Str(0)) == nil {
		return 1, sqlerr.Newf(15010, 16, "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases.", a.Str(0))
	}
	var rows iter.Seq[sysrow.Row] = func(yield func(sysrow.Row) bool) {
		for _, db := range c.Instance().Storage.Databases() {
			if !a.Null(0) && !strings.EqualFold(db.Name(), a.Str(0)) {
				continue
			}
			if !yield(sysrow.Row{
				"name": db.Name(), "db_size": "     16.00 MB", "owner": "sa", "dbid": db.ID, "created": db.CreateDate.Format("Jan _2 2006"),
				"status": "Status=ONLINE, Updateability=READ_WRITE, UserAccess=MULTI_USER, Recovery=" + db.Props().Recovery, "compatibility_level": db.Props().CompatLevel,
			}) {
				return
			}
		}
	}
	return 0, sysrow.Emit(c, spHelpDBColumns, rows)
}

var (
	spaceUsedTable    = sysrow.Columns(`name nvarchar(128), rows char(20), reserved varchar(18), data varchar(18), index_size varchar(18), unused varchar(18)`)
	spaceUsedDatabase = sysrow.Columns(`database_name nvarchar(128), database_size varchar(18), unallocated_space varchar(18)`)
)

func spSpaceUsed(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	if a.Null(0) {
		return 0, sysrow.Emit(c, spaceUsedDatabase, rowsOf(sysrow.Row{"database_name": s.db.Name(), "database_size": "16.00 MB"}))
	}
	t := s.tableNamed(a.Str(0))
	if t == nil {
		return 1, sqlerr.Newf(15009, 16, "The object '%s' does not exist in database '%s' or is invalid for this operation.", a.Str(0), s.db.Name())
	}
	n := s.rowCount(t.ID)
	kb := itoa(int(n/50+1)*8) + " KB"
	return 0, sysrow.Emit(c, spaceUsedTable, rowsOf(sysrow.Row{"name": t.Name, "rows": itoa(int(n)), "reserved": kb, "data": kb, "index_size": "8 KB", "unused": "0 KB"}))
}

func itoa(n int) string { return strconv.Itoa(n) }
