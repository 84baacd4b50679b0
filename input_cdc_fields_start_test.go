package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// start_from says where a table without a stored position begins, in each of its forms; a stored position wins.
func TestCDCStartFrom(t *testing.T) {
	type world struct {
		lsns []string    // of the three transactions
		at   []time.Time // when they were committed
	}
	tests := []struct {
		name  string
		value func(world) string
		want  string
	}{
		{"default", func(world) string { return "" }, "1 2 3 4"},
		{"earliest", func(world) string { return "earliest" }, "1 2 3 4"},
		{"latest", func(world) string { return "latest" }, "4"},
		{"after an LSN", func(w world) string { return w.lsns[0] }, "2 3 4"},
		{"an LSN in capitals", func(w world) string { return "0X" + strings.ToUpper(w.lsns[1][2:]) }, "3 4"},
		{"a time between two", func(w world) string { return w.at[1].Add(-time.Minute).UTC().Format(time.RFC3339) }, "2 3 4"},
		{"a time with a zone", func(w world) string {
			return w.at[2].Add(-time.Minute).In(time.FixedZone("", -5*3600)).Format(time.RFC3339)
		}, "3 4"},
		{"a time before all", func(w world) string {
			return "2000-01-01T00:00:00Z"[:0] + w.at[0].Add(-time.Hour).UTC().Format(time.RFC3339)
		}, "1 2 3 4"},
		{"a time after all", func(w world) string { return w.at[2].Add(time.Minute).UTC().Format(time.RFC3339) }, "4"},
	}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 9*3600)} {
		for _, tt := range tests {
			t.Run(tt.name+" "+fmt.Sprint(time.Time{}.In(zone).Format("-07")), func(t *testing.T) {
				onCDC(t, mssqltest.Config{Location: zone}, func(t *testing.T, r *cdcRig) {
					r.table("a", "id int NOT NULL PRIMARY KEY")
					var w world
					for i := range 3 {
						pass(5 * time.Minute)
						r.sql(fmt.Sprintf("INSERT dbo.a VALUES (%d)", i+1))
						w.at = append(w.at, time.Now())
						pass(time.Second)
						w.lsns = append(w.lsns, r.cell("SELECT TOP (1) LOWER(CONVERT(varchar(30), __$start_lsn, 1)) FROM cdc.dbo_a_CT ORDER BY __$start_lsn DESC"))
					}
					pass(5 * time.Minute)
					fields := ""
					if v := tt.value(w); v != "" {
						fields = fmt.Sprintf("start_from: %q", v)
					}
					run := r.start(fields)
					before := run.drains(cdcQuiet)
					r.sql("INSERT dbo.a VALUES (4)")
					got := append(before, run.drains(cdcQuiet)...)
					text := strings.Join(column(got, func(m *cdcMessage) string { return strings.Trim(m.body, `{"id:}`) }), " ")
					if text != tt.want {
						t.Errorf("start_from %q gives %s, want %s\n%s", tt.value(w), text, tt.want, run.log)
					}
					run.stop()
					r.sql("INSERT dbo.a VALUES (5)")
					if m := r.start(fields).one(); m.body != `{"id":5}` {
						t.Errorf("with a stored position it began at %v", m)
					}
				})
			})
		}
	}
}
