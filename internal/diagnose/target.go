package diagnose

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

// TargetOptions say what rows are brought into, and how.
type TargetOptions struct {
	Session session.Config
	Table   catalog.Name // zero where messages name it
	// Keyed is for rows that replace others by their key, Apply for changes, which delete too.
	Keyed, Apply bool
	KeyColumns   []string
	Create       bool // the table is made when it is not there
}

// Constraints that are turned off, or that the server does not trust, and indexes that leave rows out, of the table @name.
const (
	sqlUntrusted = `SELECT x.name, x.is_disabled FROM (
 SELECT f.name, f.is_disabled, f.is_not_trusted, f.is_not_for_replication FROM sys.foreign_keys AS f WHERE f.parent_object_id = OBJECT_ID(@name)
 UNION ALL SELECT c.name, c.is_disabled, c.is_not_trusted, c.is_not_for_replication FROM sys.check_constraints AS c WHERE c.parent_object_id = OBJECT_ID(@name)) AS x
WHERE x.is_disabled = 1 OR x.is_not_trusted = 1 AND x.is_not_for_replication = 0 ORDER BY x.name;
SELECT i.name, CASE WHEN i.is_primary_key = 1 OR i.is_unique_constraint = 1 THEN 1 ELSE 0 END FROM sys.indexes AS i
WHERE i.object_id = OBJECT_ID(@name) AND i.ignore_dup_key = 1 ORDER BY i.name`
	declUntrusted = "@name nvarchar(776)"

	sqlWho = `SELECT SUSER_SNAME(), USER_NAME()`
)

// RunTarget makes all checks of a table that rows are brought into.
func RunTarget(ctx context.Context, opts TargetOptions) *Report {
	t := &targetRun{run: run{ctx: ctx, opts: Options{Session: opts.Session}, report: &Report{}}, opts: opts}
	defer t.close()
	for _, check := range []func() bool{t.connect, t.who, t.describe, t.rights, t.key, t.relations, t.constraints} {
		if ctx.Err() != nil || !check() {
			break
		}
	}
	return t.report
}

// targetRun is one RunTarget.
type targetRun struct {
	run
	opts        TargetOptions
	login, user string
	target      *bulkload.Target
}

// tell adds a finding of the table. cost is said above its T-SQL.
func (t *targetRun) tell(check string, s Severity, message, cost, sql string) {
	f := Finding{Check: check, Severity: s, Table: t.opts.Table.String(), Message: message}
	if sql != "" {
		f.Script = "-- " + cost + "\n" + sql + ";"
	}
	t.add(f)
}

// who learns the database and whom rights are granted to.
func (t *targetRun) who() bool {
	err := t.ask(func(c *session.Conn) (err error) {
		if t.report.Database, err = catalog.LoadDatabase(t.ctx, c); err != nil {
			return err
		}
		row, err := c.QueryRow(t.ctx, sqlWho, "")
		if err == nil && len(row) == 2 {
			t.login, _ = row[0].(string)
			t.user, _ = row[1].(string)
		}
		return err
	})
	if err != nil {
		return t.fail("database", err)
	}
	if t.report.Database.ReadOnly {
		t.add(Finding{Check: "database", Severity: Error, Message: fmt.Sprintf("Database %s is read-only here, so nothing can be loaded: connect to the primary.", t.report.Database.Name)})
	}
	return t.opts.Table.Object != ""
}

func (t *targetRun) describe() bool {
	err := t.ask(func(c *session.Conn) (err error) {
		t.target, err = bulkload.LoadTarget(t.ctx, c, t.opts.Table)
		return err
	})
	_, answered := session.Number(err)
	switch {
	case err == nil:
		t.report.Tables = []catalog.Name{t.opts.Table}
		return true
	case answered || session.IsNetwork(err) || t.ctx.Err() != nil:
		return t.fail("table", err)
	case t.opts.Create:
		t.tell("table", Info, fmt.Sprintf("The table does not exist, or is not visible to login %s: create_table makes it, which needs CREATE TABLE in the database and ALTER on the schema.", t.login), "", "")
	default:
		t.tell("table", Error, fmt.Sprintf("The table does not exist, or login %s has no right on it. Create it, or set create_table; where it exists: GRANT %s ON %s TO %s.",
			t.login, strings.Join(t.needed(), ", "), t.opts.Table.Quoted(), catalog.Quote(t.user)), "", "")
	}
	return false
}

// needed are the rights on the rows.
func (t *targetRun) needed() []string {
	switch {
	case t.opts.Apply:
		return catalog.RowRights
	case t.opts.Keyed:
		return catalog.RowRights[:3]
	}
	return catalog.RowRights[:2]
}

func (t *targetRun) rights() bool {
	var missing []string
	err := t.ask(func(c *session.Conn) (err error) {
		missing, err = catalog.MissingRights(t.ctx, c, t.opts.Table, t.needed())
		return err
	})
	if err != nil {
		return t.fail("rights", err)
	}
	if len(missing) > 0 {
		list := strings.Join(missing, ", ")
		t.tell("rights", Error, fmt.Sprintf("Login %s may not %s.", t.login, list), "It holds for this table alone.",
			fmt.Sprintf("GRANT %s ON %s TO %s", list, t.opts.Table.Quoted(), catalog.Quote(t.user)))
	}
	return true
}

func (t *targetRun) key() bool {
	if !t.opts.Keyed {
		return true
	}
	var key merge.Key
	err := t.ask(func(c *session.Conn) (err error) {
		key, err = merge.LoadKey(t.ctx, c, t.target, t.opts.KeyColumns)
		return err
	})
	const way = "Give it a primary key (ALTER TABLE … ADD CONSTRAINT … PRIMARY KEY (…), which reads and locks the table), or name columns in key_columns."
	switch {
	case err != nil:
		t.tell("key", Error, err.Error()+".", "", "")
	case len(key.Columns) == 0 && t.opts.Apply:
		t.tell("key", Warning, "The table has no key, so that updates and deletions are refused. "+way, "", "")
	case len(key.Columns) == 0:
		t.tell("key", Error, "The table has no key. "+way, "", "")
	case !key.Unique:
		names := make([]string, len(key.Columns))
		filled := "" // columns that may be NULL make no key
		for i, at := range key.Columns {
			c := &t.target.Columns[at]
			names[i] = catalog.Quote(c.Name)
			if c.Type.Nullable {
				filled += fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s %s NOT NULL;\n", t.opts.Table.Quoted(), names[i], c.Type.ColumnDeclaration())
			}
		}
		t.tell("key", Warning, fmt.Sprintf("No unique index is over the key %s: rows are found by reading the table, and one message changes all rows that have its key.", key.Names(t.target)),
			"It reads the table and keeps others from writing meanwhile, costs space and writes, and fails where rows share a key or have none.",
			filled+fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", catalog.Quote("UX_"+t.opts.Table.Object+"_key"), t.opts.Table.Quoted(), strings.Join(names, ", ")))
	}
	return true
}

// relations warns of what else happens when changes are applied, as the output's log does.
func (t *targetRun) relations() bool {
	if !t.opts.Apply {
		return true
	}
	var r *merge.Relations
	if err := t.ask(func(c *session.Conn) (err error) {
		r, err = merge.LoadRelations(t.ctx, c, t.opts.Table)
		return err
	}); err != nil {
		t.skip("relations", err, "")
		return true
	}
	for _, w := range r.Warnings(t.opts.Table) {
		t.tell("relations", Warning, strings.ToUpper(w.Text[:1])+w.Text[1:]+".", w.Cost, w.SQL)
	}
	return true
}

// constraints tells of those that are off or not trusted, and of indexes that leave rows out.
func (t *targetRun) constraints() bool {
	var off, doubted []string
	var ignoring []duplicates
	s := request.Statement{Text: sqlUntrusted, Decl: declUntrusted, Args: []driver.Value{t.opts.Table.Quoted()}}
	err := t.ask(func(c *session.Conn) error {
		return request.Each(t.ctx, c, s, func(set int, _ []string, row []driver.Value) error {
			name, _ := row[0].(string)
			switch {
			case set == 1:
				ignoring = append(ignoring, duplicates{name, row[1] == int64(1)})
			case row[1] == true:
				off = append(off, catalog.Quote(name))
			default:
				doubted = append(doubted, catalog.Quote(name))
			}
			return nil
		})
	})
	if err != nil {
		t.skip("constraints", err, "")
		return true
	}
	const cost = "It reads and locks the whole table, and fails where a row breaks one."
	again := "ALTER TABLE " + t.opts.Table.Quoted() + " WITH CHECK CHECK CONSTRAINT "
	if len(off) > 0 {
		t.tell("constraints", Warning, fmt.Sprintf("Foreign keys or checks are turned off: %s. Rows that break them are loaded; leave them so where that is meant.", strings.Join(off, ", ")), cost, again+strings.Join(off, ", "))
	}
	if len(doubted) > 0 {
		t.tell("constraints", Warning, fmt.Sprintf("The server does not trust foreign keys or checks: %s. Rows were stored unchecked, as by a load without the hint CHECK_CONSTRAINTS, and queries are planned without them.", strings.Join(doubted, ", ")), cost, again+strings.Join(doubted, ", "))
	}
	for _, d := range ignoring {
		t.ignores(d)
	}
	return true
}

// duplicates is an index with IGNORE_DUP_KEY.
type duplicates struct {
	index      string
	constraint bool // made by a constraint, whose option ALTER INDEX does not change
}

func (t *targetRun) ignores(d duplicates) {
	message := fmt.Sprintf("Index %s has IGNORE_DUP_KEY: the server leaves out rows whose key is there, and a load that misses rows is refused.", catalog.Quote(d.index))
	if d.constraint {
		t.tell("duplicates", Warning, message+" Drop its constraint and add it again without the option, which reads and locks the table.", "", "")
		return
	}
	t.tell("duplicates", Warning, message, "Who counts on the option gets error 2601 for such rows.",
		fmt.Sprintf("ALTER INDEX %s ON %s SET (IGNORE_DUP_KEY = OFF)", catalog.Quote(d.index), t.opts.Table.Quoted()))
}
