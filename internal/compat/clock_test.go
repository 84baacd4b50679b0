package compat

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// DBZ-3479, DBZ-1643, DBZ-6388; airbyte#31447, #25237: times of lsn_time_mapping are the server's local time, and were taken for UTC.
func TestCommitTimesAreInstants(t *testing.T) {
	if os.Getenv(dsnVariable) != "" {
		t.Skip("only on the stand-in: it needs servers in several time zones")
	}
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/New_York", "Asia/Kolkata"} {
		for _, season := range []struct {
			name  string
			after time.Duration // virtual time begins in January
		}{{"winter", 0}, {"summer", 190 * 24 * time.Hour}} {
			t.Run(zone+" in "+season.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					pause(t.Context(), season.after)
					r := newRig(t, standInDatabase(t.Context(), t, databaseOptions{timezone: zone}))
					r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
					r.enable("t")
					r.start("metadata: [source_ts_ms]\n")
					began := time.Now()
					r.sql("INSERT dbo.t VALUES (1)")
					r.scan()
					m := r.take(1)[0]
					for _, key := range []string{"commit_ts_ms", "source_ts_ms"} {
						ms, ok := m.meta[key].(int64)
						if !ok {
							r.t.Fatalf("%s is a %T", key, m.meta[key])
						}
						// The server keeps 1/300 s.
						if d := time.UnixMilli(ms).Sub(began); d < -4*time.Millisecond || d > time.Second {
							t.Errorf("%s of a change at %v is %v, off by %v", key, began.UTC(), time.UnixMilli(ms).UTC(), d)
						}
					}
				})
			})
		}
	}
}
