package changetable

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/checkpoint"
)

// probed answers probes: tables whose name contains "busy" have rows, and one
// that contains "gone" or "denied" fails the statement.
type probed struct {
	texts []string
	max   int
}

func (p *probed) Query(_ context.Context, text, _ string, args ...driver.Value) (driver.RowsNextResultSet, error) {
	p.texts = append(p.texts, text)
	if strings.Contains(text, "gone") {
		return nil, sqlError(208)
	}
	if strings.Contains(text, "denied") {
		return nil, sqlError(229)
	}
	m := lsn(p.max)
	r := &fakeRows{fake: &fake{}, sets: [][][]driver.Value{{{m[:]}}}}
	if number(args[0].([]byte)) <= p.max {
		var set [][]driver.Value
		for i, part := range strings.Split(text, "UNION ALL") {
			has := int64(0)
			if strings.Contains(part, "busy") {
				has = 1
			}
			set = append(set, []driver.Value{int64(i), has})
		}
		var raised [][]driver.Value
		if strings.Contains(text, "cleaned") {
			start := lsn(number(args[1].([]byte)) + 2)
			raised = append(raised, []driver.Value{"cleaned", start[:]})
		}
		r.sets = append(r.sets, set, raised)
	}
	return r, nil
}

func target(name string, at int) Target {
	return Target{Table: "dbo." + name, Capture: name, ChangeTable: name + "_CT", After: checkpoint.Position{LSN: lsn(at), Done: true}}
}

func TestProbe(t *testing.T) {
	var targets []Target
	for i := range 250 {
		name := fmt.Sprintf("idle%d", i)
		if i%60 == 7 {
			name = fmt.Sprintf("busy%d", i)
		}
		targets = append(targets, target(name, 5))
	}
	p := &probed{max: 9}
	found, err := Probe(context.Background(), p, lsn(9), targets, NoLock)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range found {
		if f.Rows != (i%60 == 7) || f.Err != nil {
			t.Errorf("table %d: %+v", i, f)
		}
	}
	if len(p.texts) != 3 {
		t.Errorf("%d statements for 250 tables", len(p.texts))
	}
	if strings.Contains(p.texts[0], "@l1") {
		t.Error("level tables do not share their position")
	}
	if _, err := parser.Parse(context.Background(), strings.NewReader(p.texts[0])); err != nil {
		t.Errorf("parsing: %v\n%s", err, p.texts[0])
	}
}

func TestProbeAsksAloneWhenATableFails(t *testing.T) {
	p := &probed{max: 9}
	found, err := Probe(context.Background(), p, lsn(9), []Target{target("busy", 5), target("gone", 6), target("denied", 5), target("idle", 5)}, NoLock)
	if err != nil {
		t.Fatal(err)
	}
	var gone *InstanceGoneError
	var denied *PermissionError
	if !found[0].Rows || !errors.As(found[1].Err, &gone) || gone.Table != "dbo.gone" || !errors.As(found[2].Err, &denied) || found[3].Rows || found[3].Err != nil {
		t.Errorf("Probe = %+v", found)
	}
}

func TestProbeRefusesAServerThatIsBehind(t *testing.T) {
	_, err := Probe(context.Background(), &probed{max: 8}, lsn(9), []Target{target("idle", 5)}, NoLock)
	var behind *BehindError
	if !errors.As(err, &behind) || behind.Server != lsn(8) {
		t.Errorf("Probe: %v", err)
	}
}

func TestProbeInsideOfATransactionAsksForItsRest(t *testing.T) {
	s := probeStatement(lsn(9), []Target{{ChangeTable: "a", After: checkpoint.Position{LSN: lsn(5), CommandID: 1}}}, Snapshot)
	if got := number(s.Args[2].([]byte)); got != 4 {
		t.Errorf("changes after %d are asked for, want after 4", got)
	}
	if strings.Contains(s.Text, "NOLOCK") || !strings.HasPrefix(s.Text, sqlSnapshot) {
		t.Errorf("not under SNAPSHOT:\n%s", s.Text)
	}
}

// Rows that cleanup removed before they were asked for look like no rows; the low end of the instance tells.
func TestProbeOfATableThatWasCleanedUp(t *testing.T) {
	p := &probed{max: 9}
	found, err := Probe(context.Background(), p, lsn(9), []Target{target("idle", 5), target("cleaned", 5), target("level", 7)}, NoLock)
	if err != nil {
		t.Fatal(err)
	}
	var gap *GapError
	if !errors.As(found[1].Err, &gap) || gap.Start != lsn(8) || gap.Position != lsn(5) || gap.Instance != "cleaned" {
		t.Errorf("the table that was cleaned up: %+v", found[1])
	}
	if found[0].Err != nil || found[2].Err != nil {
		t.Errorf("the others: %+v, %+v", found[0], found[2])
	}
}
