package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

func (r *run) tables() bool {
	var all []catalog.Name
	var chosen []*catalog.Instance
	count := make(map[int32]int)
	hidden := 0
	grant := "GRANT VIEW DEFINITION TO " + catalog.Quote(r.access.User) + ";"
	for i := range r.report.State.Instances {
		inst := &r.report.State.Instances[i]
		count[inst.SourceID]++
		if inst.Source.Object == "" {
			hidden++
			r.add(Finding{
				Check: "rights", Severity: Warning,
				Message: fmt.Sprintf("Login %s may not see the source table of capture instance %s, so its name is unknown and it is not read.", r.access.Login, inst.Capture),
				Remedy:  grant,
			})
			continue
		}
		if !slices.Contains(all, inst.Source) {
			all = append(all, inst.Source)
		}
		if r.matcher.Match(inst.Source) {
			chosen = append(chosen, inst)
			if !slices.Contains(r.report.Tables, inst.Source) {
				r.report.Tables = append(r.report.Tables, inst.Source)
			}
		}
	}
	// A table that cannot be seen may be the one that is looked for.
	unseen, remedy := "", enableTable(catalog.Name{Schema: "dbo", Object: "…"})
	if hidden > 0 {
		unseen = fmt.Sprintf(" Login %s may not see the source tables of %d capture instances.", r.access.Login, hidden)
		remedy = grant
	}
	for _, pattern := range r.matcher.Unmatched(all) {
		remedy := remedy
		if hidden == 0 {
			if enable := r.enableMatching(pattern); enable != "" {
				remedy = enable
			} else if name, ok := literal(pattern); ok {
				remedy = enableTable(name)
			}
		}
		r.add(Finding{
			Check: "tables", Severity: Error,
			Message: fmt.Sprintf("The include pattern %s matches no table with change data capture. A pattern has to match the whole of schema.table, case included.", pattern) + unseen,
			Remedy:  remedy,
		})
	}
	if len(chosen) == 0 {
		r.add(Finding{Check: "tables", Severity: Error, Message: "No table with change data capture is chosen." + unseen, Remedy: remedy})
		return true
	}
	for _, inst := range chosen {
		if r.ctx.Err() != nil {
			return false
		}
		r.instance(inst, count[inst.SourceID])
	}
	return true
}

// enableMatching enables change data capture for the tables without it that a pattern means, as far as the login sees them. An
// excluded one is not meant.
func (r *run) enableMatching(pattern string) string {
	m, err := catalog.NewMatcher([]string{pattern}, r.opts.Exclude)
	if err != nil {
		return ""
	}
	var all []catalog.UserTable
	if r.ask(func(c *session.Conn) (err error) {
		all, err = catalog.UserTables(r.ctx, c)
		return err
	}) != nil {
		return "" // the names would only have been a help
	}
	var out []string
	for _, t := range all {
		if !t.Captured && m.Match(t.Name) && len(out) < mostEnabled {
			out = append(out, enableTable(t.Name))
		}
	}
	return strings.Join(out, "\n")
}

// mostEnabled bounds the statements that one pattern leads to.
const mostEnabled = 20

// instance checks one capture instance. count is how many its table has.
func (r *run) instance(short *catalog.Instance, count int) {
	table := short.Source.String()
	warn := func(check, message, remedy string) {
		r.add(Finding{Check: check, Severity: Warning, Table: table, Message: message, Remedy: remedy})
	}
	may := false
	var inst *catalog.Instance
	err := r.ask(func(c *session.Conn) (err error) {
		if inst, err = catalog.LoadInstance(r.ctx, c, short.Capture); err != nil {
			return err
		}
		may, err = catalog.MayRead(r.ctx, c, inst.ChangeTable)
		return err
	})
	switch {
	case isNoInstance(err):
		return
	case err != nil:
		r.add(Finding{Check: "instance", Severity: Error, Table: table, Message: err.Error() + ".", Err: err})
		return
	case !may:
		r.add(Finding{
			Check: "rights", Severity: Error, Table: table,
			Message: fmt.Sprintf("Login %s may not read the change table %s; membership in a gating role opens the functions only.", r.access.Login, inst.ChangeTable),
			Remedy:  "GRANT SELECT ON SCHEMA::[cdc] TO " + catalog.Quote(r.access.User) + ";",
		})
	}
	if !inst.Started() {
		warn("instance", fmt.Sprintf("The capture job has not handled capture instance %s yet; it is read once the job has.", inst.Capture), "EXEC sys.sp_cdc_start_job N'capture';")
	}
	if inst.PartitionSwitch {
		r.add(Finding{
			Check: "partition switch", Severity: Warning, Table: table,
			Message: "ALTER TABLE … SWITCH PARTITION is allowed on this table, and rows that it moves are not captured; after a switch the table has to be read again from a snapshot.",
			Remedy:  "enable the table with @allow_partition_switch = 0", Script: enableAgain(inst, false),
		})
	}
	if inst.DropPending {
		warn("instance", fmt.Sprintf("Capture instance %s is being dropped.", inst.Capture), "")
	}
	if !inst.HasCommandID {
		r.add(Finding{
			Check: "change table", Severity: Warning, Table: table,
			Message: fmt.Sprintf("The change table %s has no __$command_id: changes within a transaction are ordered by __$seqval only, and a page is as large as its largest transaction.", inst.ChangeTable),
			Remedy:  "disable and enable change data capture for the table", Script: enableAgain(inst, inst.PartitionSwitch),
		})
	}
	if count == 1 && len(inst.Key) == 0 {
		r.add(Finding{Check: "key", Severity: Info, Table: table, Message: "There is no primary key, nor a unique index over captured columns that cannot be NULL, so messages have no key. ALTER TABLE " + inst.Source.Quoted() + " ADD CONSTRAINT … PRIMARY KEY (…) over captured columns gives it one."})
	}
	r.columns(table, inst)
}

func (r *run) columns(table string, inst *catalog.Instance) {
	var masked, computed, dropped, foreign []string
	for _, c := range inst.Columns {
		switch {
		case c.Masked && !r.access.Unmask:
			masked = append(masked, c.Name)
		case c.Computed:
			computed = append(computed, c.Name)
		case c.Dropped:
			dropped = append(dropped, c.Name)
		}
		switch c.Type.Name {
		case "char", "varchar", "text":
			if !strings.EqualFold(c.Type.Collation, r.report.Database.Collation) {
				foreign = append(foreign, c.Name)
			}
		}
	}
	if len(masked) > 0 {
		severity := Error
		if r.opts.AllowMasked {
			severity = Warning
		}
		r.add(Finding{
			Check: "masking", Severity: severity, Table: table,
			Message: fmt.Sprintf("Login %s reads masked values from %s.", r.access.Login, strings.Join(masked, ", ")),
			Remedy:  "GRANT UNMASK TO " + catalog.Quote(r.access.User) + ";",
		})
	}
	if len(foreign) > 0 {
		r.add(Finding{Check: "collation", Severity: Warning, Table: table,
			Message: fmt.Sprintf("These columns have another collation than the database (%s), and change data capture may have damaged characters outside of ASCII in them: %s. Unicode types are safe: make these columns nchar or nvarchar (ALTER TABLE … ALTER COLUMN), and read the table anew from a snapshot.",
				r.report.Database.Collation, strings.Join(foreign, ", "))})
	}
	if len(computed) > 0 {
		r.add(Finding{Check: "columns", Severity: Info, Table: table,
			Message: fmt.Sprintf("Computed columns are left out, since change data capture stores NULL for them: %s.", strings.Join(computed, ", "))})
	}
	if len(dropped) > 0 {
		r.add(Finding{Check: "columns", Severity: Info, Table: table,
			Message: fmt.Sprintf("The table has these captured columns no more, or they are not visible to the login: %s. They are NULL in new changes.", strings.Join(dropped, ", "))})
	}
}
