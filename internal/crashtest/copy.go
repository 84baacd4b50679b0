//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/verify"
	"example.com/mssqlcdc/mssqltest"
)

// eventColumn is a column of the target's tables alone, which takes the event id of the change that a row is of. A trigger writes it
// into dbo.audit, a heap, whenever a row is written: what is applied twice is there twice, whatever the tables look like afterwards.
const eventColumn = "__$event_id"

// CopyOptions say how a Lab's tables are followed.
type CopyOptions struct {
	Format string // json or arrow
	Global bool   // ordering: global, and rows that both sides have from the beginning: for tables with foreign keys
	Lanes  int    // writers that share the keys of a table; 0 for one
}

// Copy is a server whose tables follow those of a Lab: mssql_cdc, and mssql_bulk in mode apply with exactly_once and a table of refused
// rows.
type Copy struct {
	Target
	opts CopyOptions
	rng  *rand.Rand
	// Bad is set when rows that the target refuses may be written.
	Bad *atomic.Bool
}

// Picky is a table of which some rows do not fit the target, whose column is shorter.
var Picky = Name{"dbo", "picky"}

const pickyRows = 200

// WithPicky adds that table to a workload. bad tells whether a transaction may write rows that do not fit; they are mended by others.
func WithPicky(w Workload, bad func() bool) Workload {
	w.Setup += "\nGO\n" + fmt.Sprintf(`CREATE TABLE dbo.picky (id int NOT NULL PRIMARY KEY, v nvarchar(40) NULL);
DECLARE @p int = 0;
WHILE @p < %d BEGIN INSERT dbo.picky VALUES (@p, N'first'); SET @p += 1; END`, pickyRows)
	w.Tables = append(slices.Clone(w.Tables), Picky)
	w.Last += "\nUPDATE dbo.picky SET v = N'last';"
	next, n := w.Next, 0
	w.Next = func(r *rand.Rand) string {
		n++
		value := fmt.Sprintf("v%d", n)
		if bad() && n%20 == 0 {
			value = "a value that does not fit"
		}
		return fmt.Sprintf("%s;\nUPDATE dbo.picky SET v = N'%s' WHERE id IN (%d, %d)", next(r), value, r.IntN(pickyRows), r.IntN(pickyRows))
	}
	return w
}

// CopyTo makes the target. Its tables are made by the workload's own script.
func (l *Lab) CopyTo(o CopyOptions) *Copy {
	l.t.Helper()
	c := &Copy{Target: Target{lab: l}, opts: o, rng: rand.New(rand.NewPCG(l.seed, 5))}
	var err error
	if c.srv, err = mssqltest.New(mssqltest.Config{Database: l.workload.Database}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.srv.Close)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	c.gate = &gate{Listener: tcp}
	if err := c.srv.Listen(c.gate); err != nil {
		l.t.Fatal(err)
	}
	c.exec(l.workload.Setup)
	c.exec("CREATE TABLE dbo.audit (of_table nvarchar(300) NOT NULL, event nvarchar(300) NULL);\nALTER DATABASE " + quote(l.workload.Database) + " SET READ_COMMITTED_SNAPSHOT ON;")
	if !o.Global { // tables come independently of each other, and from the first row on
		for _, n := range l.workload.Tables {
			c.exec("ALTER TABLE " + n.quoted() + " NOCHECK CONSTRAINT ALL")
		}
		for _, n := range l.workload.Tables {
			c.exec("DELETE FROM " + n.quoted())
		}
	}
	for i, n := range l.workload.Tables {
		c.exec(fmt.Sprintf("ALTER TABLE %s ADD %s nvarchar(300) NULL", n.quoted(), quote(eventColumn)))
		c.exec(fmt.Sprintf("CREATE TRIGGER %s ON %s AFTER INSERT, UPDATE AS SET NOCOUNT ON; INSERT dbo.audit SELECT %s, %s FROM inserted",
			quote(n.Schema)+"."+quote(fmt.Sprintf("audit%d", i)), n.quoted(), literal(n.String()), quote(eventColumn)))
	}
	if slices.Contains(l.workload.Tables, Picky) {
		c.exec("ALTER TABLE dbo.picky ALTER COLUMN v nvarchar(12) NULL")
	}
	l.copy = c
	return c
}

func (c *Copy) exec(script string) {
	c.lab.t.Helper()
	if err := c.srv.Exec(script); err != nil {
		c.lab.t.Fatalf("%v in\n%.400s", err, script)
	}
}

func (c *Copy) query(text string) [][]string {
	c.lab.t.Helper()
	rows, err := c.srv.Query(text)
	if err != nil {
		c.lab.t.Fatalf("%v in\n%s", err, text)
	}
	return rows
}

// config is the stream that a process runs. Where batches are cut is another place each time.
func (c *Copy) config() string {
	l := c.lab
	var b strings.Builder
	fmt.Fprintf(&b, "http: {enabled: false}\nlogger: {level: WARN}\ninput:\n  mssql_cdc:\n    connection_string: %q\n    checkpoint_file: %q\n    poll_interval: 50ms\n    format: %s\n    batching: {count: %d, period: 100ms}\n",
		l.srv.ConnString(), l.file(), c.opts.Format, 1+c.rng.IntN(60))
	if c.opts.Global {
		b.WriteString("    ordering: global\n")
	} else {
		b.WriteString("    stream_snapshot: true\n    snapshot_max_batch_size: 40\n")
	}
	b.WriteString("pipeline:\n  threads: 1\n")
	if c.opts.Format == "json" {
		fmt.Fprintf(&b, "  processors: [ { mapping: 'root = if @operation == \"delete\" { this } else { this.assign({%q: @event_id}) }' } ]\n", eventColumn)
	}
	bulk := func(lane string) {
		once := "enabled: true"
		if lane != "" {
			once += fmt.Sprintf(", channel: '${! @database_schema }.${! @table }/%s'", lane)
		}
		fmt.Fprintf(&b, "mssql_bulk: { connection_string: %q, mode: apply, exactly_once: {%s}, reject_table: dbo.rejects, backoff: {initial_interval: 50ms, max_interval: 200ms} }\n", c.srv.ConnString(), once)
	}
	if c.opts.Lanes == 0 {
		b.WriteString("output:\n  ")
		bulk("")
		return b.String()
	}
	b.WriteString("output:\n  switch:\n    cases:\n")
	for lane := range c.opts.Lanes {
		check := ""
		if lane < c.opts.Lanes-1 {
			var digits []string
			for d := range 16 {
				if d%c.opts.Lanes == lane {
					digits = append(digits, fmt.Sprintf("%q", fmt.Sprintf("%x", d)))
				}
			}
			check = fmt.Sprintf("check: '[%s].contains(@key.or(\"\").hash(\"crc32\").encode(\"hex\").slice(-1))'\n        ", strings.Join(digits, ", "))
		}
		b.WriteString("      - " + check + "output:\n          ")
		bulk(fmt.Sprint(lane))
	}
	return b.String()
}

// conf compares the tables of both servers.
func (c *Copy) conf(settle time.Duration) verify.Config {
	conf := verify.Config{Source: session.Config{ConnectionString: c.lab.srv.ConnString()}, Target: session.Config{ConnectionString: c.srv.ConnString()}, Settle: settle, List: 5}
	for _, n := range c.lab.workload.Tables {
		name := catalog.Name{Schema: n.Schema, Object: n.Table}
		conf.Tables = append(conf.Tables, verify.Pair{Source: name, Target: name})
	}
	return conf
}

// Settle runs a last process until the target is equal, and stops it in order.
func (c *Copy) Settle(stopWriting func()) {
	l := c.lab
	l.t.Helper()
	p := l.Start(0)
	stopWriting()
	l.exec("BEGIN TRANSACTION;\n" + l.workload.Last + "\nCOMMIT;")
	ctx, cancel := context.WithTimeout(l.t.Context(), 4*bound)
	defer cancel()
	report, err := verify.Run(ctx, c.conf(2*bound))
	if err != nil {
		l.t.Fatalf("comparing: %v\n%s", err, p.log.String())
	}
	for _, found := range report.Tables {
		if !found.Equal {
			l.t.Errorf("%s is not what it is at the source: %+v\n%s", found.Source, *found, p.log.String())
		}
	}
	p.Terminate()
	if end := p.Wait(20 * time.Second); end != "stopped" {
		l.t.Errorf("told to stop, the last process has %s\n%s", end, p.log.String())
	}
}

// Verify checks that no change was applied twice (rows of a snapshot have no order, and may be, with the same outcome), that each table was written at all, and that the rows which did not fit are in the
// table of refused rows, each once. It returns how many changes were applied and how many were refused.
func (c *Copy) Verify() (applied, refused int) {
	l := c.lab
	l.t.Helper()
	for _, row := range c.query("SELECT of_table, event, COUNT(*) FROM dbo.audit WHERE event NOT LIKE N'%-read-%' GROUP BY of_table, event HAVING COUNT(*) > 1") {
		l.t.Errorf("event %s of %s was applied %s times", row[1], row[0], row[2])
	}
	seen := map[string]bool{}
	for _, row := range c.query("SELECT of_table, COUNT(*) FROM dbo.audit WHERE event IS NOT NULL GROUP BY of_table") {
		seen[row[0]] = true
		var n int
		if _, err := fmt.Sscan(row[1], &n); err != nil {
			l.t.Fatal(err)
		}
		applied += n
	}
	for _, n := range l.workload.Tables {
		if !seen[n.String()] {
			l.t.Errorf("no row of %s was written with its event", n)
		}
	}
	return applied, c.verifyRefused()
}

func (c *Copy) verifyRefused() int {
	l := c.lab
	at := slices.Index(l.workload.Tables, Picky)
	refused := map[string]bool{}
	for _, row := range c.query("SELECT event_id, error FROM dbo.rejects WHERE event_id NOT LIKE N'%-read-%'") {
		if refused[row[0]] {
			l.t.Errorf("event %s was refused twice", row[0])
		}
		if refused[row[0]] = true; !strings.Contains(row[1], "column v") {
			l.t.Errorf("a row was refused that is not bad: %s", row[1])
		}
	}
	if at < 0 {
		return len(refused)
	}
	bad := l.query(fmt.Sprintf("SELECT COUNT(*) FROM cdc.%s_CT WHERE LEN(v) > 12 AND __$operation IN (2, 4)", instance(at)))[0][0]
	if fmt.Sprint(len(refused)) != bad {
		l.t.Errorf("%d rows are in the table of refused rows, and %s did not fit", len(refused), bad)
	}
	return len(refused)
}

// AwaitSnapshot waits until the target has the first rows of the picky table.
func (c *Copy) AwaitSnapshot() error {
	timer, ticker := time.NewTimer(bound), time.NewTicker(50*time.Millisecond)
	defer timer.Stop()
	defer ticker.Stop()
	for {
		rows, err := c.srv.Query("SELECT COUNT(*) FROM dbo.picky")
		if err != nil {
			return err
		}
		if rows[0][0] == fmt.Sprint(pickyRows) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-timer.C:
			return errors.New("the snapshot has not come to its end")
		}
	}
}
