package compat

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Found in Redpanda's input: a table without changes was asked in a hot loop. A thousand idle tables cost a statement or two a
// poll, not one each.
func TestIdleTablesCostAPollAndNotMore(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		for i := range 30 {
			r.sql(fmt.Sprintf("CREATE TABLE dbo.t%d (id int PRIMARY KEY)", i))
			r.enable(fmt.Sprintf("t%d", i))
		}
		r.sql("INSERT dbo.t0 VALUES (1)")
		r.scan()
		r.start("poll_interval: 1s\n")
		r.take(1)
		r.pass(5 * time.Second)
		r.control().RecordStatements(true)
		r.pass(time.Minute)
		texts := map[string]int{}
		n := 0
		for _, s := range r.control().Statements() {
			texts[s.Text]++
			n++
		}
		if n > 4*61 {
			t.Errorf("%d statements in a minute of 60 polls:\n%v", n, texts)
		}
		// A dummy transaction, as an idle database gets it, moves the maximum: then all are asked in one statement.
		r.control().RecordStatements(true)
		r.sql("INSERT dbo.t1 VALUES (1)")
		r.scan()
		r.expect(`dbo.t1 insert {"id":1}`)
		probes := 0
		for _, s := range r.control().Statements() {
			if strings.Contains(s.Text, "EXISTS") && strings.Contains(s.Text, "_CT]") && strings.Contains(s.Text, "UNION ALL") {
				probes++
			}
		}
		if probes == 0 || probes > 10 { // a probe has five statements
			t.Errorf("%d statements of probes for one change among 30 tables", probes)
		}
	})
}

// literal finds an LSN or a longer number written into a statement.
var literal = regexp.MustCompile(`0x[0-9A-Fa-f]{16,}`)

// Estuary's changelog: LSNs as literals made a new plan of every poll.
func TestStatementsHaveParametersInsteadOfLiterals(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(10))")
		r.enable("t")
		r.control().RecordStatements(true)
		r.start("")
		seen := map[string]bool{}
		var grown []string
		for i := range 12 {
			r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d, 'x')", i))
			r.scan()
			r.take(1)
			r.saved()
			for _, s := range r.control().Statements() {
				if strings.Contains(s.Text, "INSERT dbo.t") || seen[s.Text] {
					continue
				}
				seen[s.Text] = true
				if i > 5 {
					grown = append(grown, s.Text)
				}
				if literal.MatchString(s.Text) {
					t.Errorf("a statement has an LSN in its text: %s", s.Text)
				}
			}
		}
		if len(grown) > 0 {
			t.Errorf("%d texts are new after six rounds of the same work:\n%s", len(grown), strings.Join(grown, "\n"))
		}
	})
}

// redpanda-data/connect PR #4691, #4487: a backlog was read with a pause between its pages.
func TestABacklogIsReadWithoutPauses(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(10))")
		r.enable("t")
		for i := range 5 {
			r.sql(fmt.Sprintf("INSERT dbo.t SELECT n.i + %d, 'x' FROM (%s) AS n", i*100, hundred))
		}
		r.scan()
		began := time.Now()
		r.start("poll_interval: 10m\nbatching: { count: 20 }\n")
		r.take(500)
		if took := time.Since(began); took > 2*time.Second { // of virtual time, in which work takes none
			t.Errorf("500 changes in 25 batches took %v with a poll interval of 10m", took)
		}
	})
}

// hundred gives the numbers from 1 to 100.
const hundred = `SELECT 1 + a.v + 10 * b.v AS i FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS a(v) CROSS JOIN (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS b(v)`

// Positions are saved at most once a second, whatever the number of batches. Found in Redpanda's input: one round trip for each row.
func TestPositionsAreSavedOnceASecond(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(10))")
		r.enable("t")
		r.sql(numbers("dbo.t", 1000, 1))
		r.scan()
		r.start("checkpoint_cache_table_name: dbo.positions\nbatching: { count: 10 }\n")
		r.take(1000)
		r.saved()
		r.control().RecordStatements(true)
		r.sql("UPDATE dbo.t SET v = 'y'")
		r.scan()
		r.take(1000)
		r.pass(10 * time.Second)
		saves := 0
		for _, s := range r.control().Statements() {
			if strings.Contains(s.Text, "positions") && strings.Contains(s.Text, "MERGE") || strings.Contains(s.Text, "UPDATE [dbo].[positions]") {
				saves++
			}
		}
		if saves == 0 || saves > 12 {
			t.Errorf("%d saves for 100 batches in 10 seconds, want some and at most one a second:\n", saves)
		}
	})
}
