package syscat

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// scriptProcs registers what scripts of older versions call, and the views that they look into.
func (r registrar) scriptProcs() {
	r.proc("sp_addtype", `@typename sysname, @phystype sysname, @nulltype varchar(8) = NULL, @owner sysname = NULL`, spAddType)
	r.proc("sp_droptype", `@typename sysname`, func(c *exec.Context, a sysrow.Args) (int32, error) {
		return 0, c.Exec("DROP TYPE " + quoteName(a.Str(0)))
	})
	r.proc("sp_helptext", `@objname nvarchar(776), @columnname sysname = NULL`, spHelpText)
	r.proc("sp_settriggerorder", `@triggername nvarchar(517), @order varchar(10), @stmttype varchar(50), @namespace varchar(10) = NULL`, accepted)
	for _, what := range []string{"add", "update"} {
		r.proc("sp_"+what+"extendedproperty", `@name sysname, @value sql_variant = NULL, `+extendedLevels, accepted)
	}
	r.proc("sp_dropextendedproperty", `@name sysname, `+extendedLevels, accepted)
	r.viewInMaster("dbo", "sysaltfiles", `fileid smallint?, groupid smallint?, size int, maxsize int, growth int, status int?, perf int?, dbid smallint?,
		name sysname, filename nvarchar(260)`, (*source).altFiles)
	for _, schema := range []string{"sys", "dbo"} {
		r.view(schema, "sysusers", `uid smallint?, status int, name sysname, sid varbinary(85)?, issqlrole int, islogin int, hasdbaccess int`, (*source).sysusers)
		r.view(schema, "systypes", `name sysname, xtype tinyint, status tinyint?, xusertype smallint?, length smallint, xprec tinyint, xscale tinyint,
			uid smallint?, variable bit?, allownulls bit?, type tinyint, usertype smallint?, prec smallint?, scale tinyint?`, (*source).systypes)
	}
}

const extendedLevels = `@level0type varchar(128) = NULL, @level0name sysname = NULL, @level1type varchar(128) = NULL, @level1name sysname = NULL,
	@level2type varchar(128) = NULL, @level2name sysname = NULL`

// spAddType makes an alias type.
func spAddType(c *exec.Context, a sysrow.Args) (int32, error) {
	null := "NULL"
	if strings.EqualFold(strings.TrimSpace(a.Str(2)), "NOT NULL") || strings.EqualFold(strings.TrimSpace(a.Str(2)), "NONULL") {
		null = "NOT NULL"
	}
	return 0, c.Exec("CREATE TYPE dbo." + quoteName(a.Str(0)) + " FROM " + a.Str(1) + " " + null)
}

// spHelpText sends the text of a module line by line.
func spHelpText(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	_, o := s.find(a.Str(0))
	if o == nil {
		return 1, sqlerr.New(15009, a.Str(0), s.db.Name())
	}
	m, ok := o.(*storage.Module)
	if !ok || m.Text == "" {
		return 1, sqlerr.New(15197, a.Str(0))
	}
	return 0, sysrow.Emit(c, sysrow.Columns(`Text nvarchar(255)?`), func(yield func(sysrow.Row) bool) {
		for line := range strings.Lines(m.Text) {
			for line != "" {
				n := len(line)
				if units := []rune(line); len(units) > 255 {
					n = len(string(units[:255]))
				}
				if !yield(sysrow.Row{"Text": line[:n]}) {
					return
				}
				line = line[n:]
			}
		}
	})
}

// altFiles yields the files of all databases.
func (s *source) altFiles() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for db := range s.eachDatabase {
			for i, suffix := range []string{"", "_log"} {
				ext := []string{".mdf", ".ldf"}[i]
				if !yield(sysrow.Row{
					"fileid": i + 1, "groupid": 1 - i, "size": 1024, "maxsize": -1, "growth": 8192, "dbid": db.ID, "name": db.Name() + suffix,
					"filename": `C:\Data\` + db.Name() + suffix + ext,
				}) {
					return
				}
			}
		}
	}
}

func (s *source) sysusers() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for p := range s.principals() {
			role := p["type"] == "R"
			row := sysrow.Row{"uid": p["principal_id"], "status": 0, "name": p["name"], "sid": p["sid"], "issqlrole": role, "islogin": !role, "hasdbaccess": !role}
			if !yield(row) {
				return
			}
		}
	}
}

func (s *source) systypes() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for t := range s.types() {
			row := sysrow.Row{
				"name": t["name"], "xtype": t["system_type_id"], "xusertype": t["user_type_id"], "length": t["max_length"], "xprec": t["precision"],
				"xscale": t["scale"], "uid": t["schema_id"], "allownulls": t["is_nullable"], "type": t["system_type_id"], "usertype": t["user_type_id"],
				"prec": t["precision"], "scale": t["scale"], "status": 0, "variable": false,
			}
			if !yield(row) {
				return
			}
		}
	}
}

// setSessionContext is sp_set_session_context.
func setSessionContext(c *exec.Context, a sysrow.Args) (int32, error) {
	return 0, c.Session.SetContext(a.Str(0), a.Vals[1], !a.Null(2) && a.Int(2, 0) != 0)
}
