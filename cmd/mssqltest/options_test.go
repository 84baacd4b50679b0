package main

import "testing"

func TestParseBytes(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int64
		bad  bool
	}{
		{"", 0, false}, {"1000", 1000, false}, {"5MB", 5 << 20, false}, {"512kb", 512 << 10, false}, {"1.5 GB", 3 << 29, false}, {"7B", 7, false},
		{"fast", 0, true}, {"-1", 0, true}, {"MB", 0, true}, {"9999999GB", 0, true},
	} {
		got, err := parseBytes(tc.in)
		if got != tc.want || (err != nil) != tc.bad {
			t.Errorf("parseBytes(%q) = %d, %v; want %d, error %v", tc.in, got, err, tc.want, tc.bad)
		}
	}
}

func TestParseOptions(t *testing.T) {
	for name, args := range map[string][]string{
		"stray word":   {"seed.sql"},
		"bad throttle": {"-throttle", "quick"},
		"unknown flag": {"-port", "1433"},
		"bad duration": {"-capture-delay", "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := parseOptions(args); err == nil {
				t.Errorf("parseOptions(%q) = %+v, want an error", args, o)
			}
		})
	}
	o, err := parseOptions([]string{"-throttle", "5MB", "-script", "a.sql", "-script", "b.sql", "-tls", "off"})
	if err != nil || o.config.Throttle != 5<<20 || len(o.scripts) != 2 || o.config.Encryption != "off" {
		t.Errorf("options %+v, error %v", o, err)
	}
}
