package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
)

// signals checks the table that signals come from: it is captured, has the columns, and the login may write watermarks into it.
func (r *run) signals() bool {
	want := r.opts.Signals
	if want.Object == "" {
		return true
	}
	add := func(message, remedy string) {
		r.add(Finding{Check: "signals", Severity: Error, Table: want.String(), Message: message, Remedy: remedy})
	}
	at := slices.IndexFunc(r.report.State.Instances, func(in catalog.Instance) bool {
		return strings.EqualFold(in.Source.Schema, want.Schema) && strings.EqualFold(in.Source.Object, want.Object)
	})
	if at < 0 {
		add("The signal table is not there, or not enabled for change data capture.",
			"CREATE TABLE "+want.Quoted()+" (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL); "+enableTable(want))
		return true
	}
	name := r.report.State.Instances[at].Source
	var inst *catalog.Instance
	may := false
	err := r.ask(func(c *session.Conn) (err error) {
		if inst, err = catalog.LoadInstance(r.ctx, c, r.report.State.Instances[at].Capture); err != nil {
			return err
		}
		may, err = catalog.MayInsert(r.ctx, c, name)
		return err
	})
	switch {
	case isNoInstance(err):
		return true
	case err != nil:
		return r.fail("signals", err)
	case !may:
		add(fmt.Sprintf("Login %s may not write watermarks into the signal table.", r.access.Login),
			"GRANT INSERT ON "+name.Quoted()+" TO "+catalog.Quote(r.access.User)+";")
	case r.report.Database.ReadOnly:
		add("The connection is to a read-only replica, into which no watermark can be written: snapshots by signal need the primary.", "")
	}
	for _, column := range []string{"id", "type", "data"} {
		if !slices.ContainsFunc(inst.Columns, func(c catalog.Column) bool {
			return strings.EqualFold(c.Name, column) && c.Type.Kind() == sqltype.Text
		}) {
			add(fmt.Sprintf("The signal table captures no text column %s; it needs id varchar(42), type varchar(32) and data varchar(2048).", column), "")
		}
	}
	return true
}
