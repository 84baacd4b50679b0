package syscat

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func TestZones(t *testing.T) {
	for _, tc := range []struct{ zone, id, name string }{
		{"UTC", "UTC", "(UTC+00:00) UTC"},
		{"Asia/Tokyo", "Tokyo Standard Time", "(UTC+09:00) Tokyo Standard Time"},
		{"Europe/Berlin", "W. Europe Standard Time", "(UTC+01:00) W. Europe Standard Time"},
		{"Australia/Sydney", "AUS Eastern Standard Time", "(UTC+10:00) AUS Eastern Standard Time"},
		{"Asia/Kabul", "Asia/Kabul", "(UTC+04:30) Asia/Kabul"},
	} {
		loc, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := zoneID(loc); got != tc.id {
			t.Errorf("CURRENT_TIMEZONE_ID() in %s = %s, want %s", tc.zone, got, tc.id)
		}
		if got := zoneName(loc); got != tc.name {
			t.Errorf("CURRENT_TIMEZONE() in %s = %s, want %s", tc.zone, got, tc.name)
		}
	}
}
