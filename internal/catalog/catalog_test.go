package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

func TestChooseKey(t *testing.T) {
	columns := []Column{{Name: "a"}, {Name: "b"}, {Name: "c", Computed: true}}
	for _, tt := range []struct {
		name    string
		enabled []string
		source  []sourceKey
		want    []string
	}{
		{"none", nil, nil, nil},
		{"as enabled", []string{"b", "a"}, []sourceKey{{columns: []string{"a"}, primary: true}}, []string{"b", "a"}},
		{"primary key before a narrower index", nil, []sourceKey{{columns: []string{"a"}}, {columns: []string{"a", "b"}, primary: true}}, []string{"a", "b"}},
		{"narrowest unique index", nil, []sourceKey{{columns: []string{"a", "b"}}, {columns: []string{"b"}}}, []string{"b"}},
		{"nullable index is no key", nil, []sourceKey{{columns: []string{"a"}, nullable: true}}, nil},
		{"column that is not captured", []string{"z"}, []sourceKey{{columns: []string{"z"}, primary: true}}, nil},
		{"computed column", []string{"c"}, []sourceKey{{columns: []string{"b"}}}, []string{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := chooseKey(columns, tt.enabled, tt.source); !slices.Equal(got, tt.want) {
				t.Errorf("chooseKey(%q, %+v) = %q, want %q", tt.enabled, tt.source, got, tt.want)
			}
		})
	}
}

func TestEveryWindowsZoneIsKnown(t *testing.T) {
	for id, name := range windowsZones {
		if _, err := time.LoadLocation(name); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestToUTCFollowsTheZonesRules(t *testing.T) {
	db := &Database{TimeZone: "W. Europe Standard Time", Offset: 2 * time.Hour}
	for _, tt := range []struct {
		name       string
		wall, want time.Time
	}{
		{"summer", time.Date(2026, 7, 1, 12, 0, 0, 3e6, time.UTC), time.Date(2026, 7, 1, 10, 0, 0, 3e6, time.UTC)},
		{"winter", time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)},
		{"not there", time.Time{}, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ToUTC(tt.wall, db.Location(nil)); !got.Equal(tt.want) {
				t.Errorf("ToUTC(%s) = %s, want %s", tt.wall, got, tt.want)
			}
		})
	}
	if got := (&Database{TimeZone: "Nowhere", Offset: 9 * time.Hour}).Location(nil); ToUTC(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), got).Hour() != 0 {
		t.Errorf("an unknown zone does not use the present offset: %s", got)
	}
	if got := db.Location(time.UTC); got != time.UTC {
		t.Errorf("a configured zone is not used: %s", got)
	}
}

// canned is a Querier that gives one result.
type canned struct {
	columns []string
	rows    [][]driver.Value
	err     error
	at      int
}

func (c *canned) Query(context.Context, string, string, ...driver.Value) (driver.RowsNextResultSet, error) {
	return c, nil
}
func (c *canned) Columns() []string      { return c.columns }
func (c *canned) Close() error           { return nil }
func (c *canned) HasNextResultSet() bool { return false }
func (c *canned) NextResultSet() error   { return io.EOF }
func (c *canned) Next(d []driver.Value) error {
	if c.at == len(c.rows) {
		if c.err != nil {
			return c.err
		}
		return io.EOF
	}
	copy(d, c.rows[c.at])
	c.at++
	return nil
}

func TestLoadJobsToleratesVersions(t *testing.T) {
	columns := []string{"job_id", "job_type", "job_name", "maxtrans", "maxscans", "continuous", "pollinginterval", "retention", "threshold"}
	for _, tt := range []struct {
		name string
		rows [][]driver.Value
		want Jobs
	}{
		{"both", [][]driver.Value{
			{[]byte{1}, "capture", "cdc.d_capture", int64(500), int64(10), true, int64(2), int64(0), int64(0)},
			{[]byte{2}, "cleanup", "cdc.d_cleanup", int64(0), int64(0), false, int64(0), int64(60), int64(5000)},
		}, Jobs{Capture: true, Cleanup: true, Retention: time.Hour, Polling: 2 * time.Second, MaxTrans: 500, MaxScans: 10, Continuous: true}},
		{"polling interval of Azure", [][]driver.Value{{nil, "capture", nil, int64(500), int64(10), int64(1), int64(0), nil, nil}},
			Jobs{Capture: true, Retention: DefaultRetention, Polling: DefaultPolling, MaxTrans: 500, MaxScans: 10, Continuous: true}},
		{"none", nil, Jobs{Retention: DefaultRetention, Polling: DefaultPolling}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := LoadJobs(context.Background(), &canned{columns: columns, rows: tt.rows})
			if err != nil || *got != tt.want {
				t.Errorf("LoadJobs = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestAnErrorAfterRowsIsNotAnEndOfRows(t *testing.T) {
	broken := errors.New("broken")
	row := []driver.Value{make([]byte, 10), time.Now(), time.Now(), []byte{1}}
	_, err := Transactions(context.Background(), &canned{columns: make([]string, 4), rows: [][]driver.Value{row}, err: broken}, [10]byte{}, [10]byte{})
	if !errors.Is(err, broken) {
		t.Errorf("Transactions: %v, want %v", err, broken)
	}
}

func TestCellsCheckTypesAndWidths(t *testing.T) {
	for _, tt := range []struct {
		name string
		row  []driver.Value
	}{
		{"short LSN", []driver.Value{[]byte{1, 2}, nil, nil, nil}},
		{"text for an LSN", []driver.Value{"x", nil, nil, nil}},
		{"number for a time", []driver.Value{nil, int64(1), nil, nil}},
		{"too few columns", []driver.Value{nil, nil, nil}},
		{"too many columns", []driver.Value{nil, nil, nil, nil, nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &canned{columns: make([]string, len(tt.row)), rows: [][]driver.Value{tt.row}}
			if got, err := Transactions(context.Background(), q, [10]byte{}, [10]byte{}); err == nil {
				t.Errorf("Transactions accepted %v as %+v", tt.row, got)
			}
		})
	}
}
