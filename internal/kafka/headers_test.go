package kafka

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
)

func TestPatternsThatAreNames(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{"^operation$"}, []string{"operation"}},
		{[]string{"^(operation|database_schema|table|key|lsn|event_id|commit_ts_ms|unchanged_columns)$"}, []string{"commit_ts_ms", "database_schema", "event_id", "key", "lsn", "operation", "table", "unchanged_columns"}},
		{[]string{"^(?:table|tables|tab)$", "^key$"}, []string{"key", "tab", "table", "tables"}},
		{[]string{"^key[12]?$"}, []string{"key", "key1", "key2"}},
		{[]string{"^$"}, []string{""}},
		{[]string{".*"}, nil},
		{[]string{"^key"}, nil},
		{[]string{"key$"}, nil},
		{[]string{"^key$", "op"}, nil},
		{[]string{"(?i)^key$"}, nil},
		{[]string{"^key.$"}, nil},
		{[]string{"^a|b$"}, nil},
		{[]string{"(?m)^key$"}, nil},
		{[]string{"^[a-z]{2}$"}, nil},
		{[]string{"^a+$"}, nil},
	} {
		have := namesOf(tt.patterns)
		if !slices.Equal(have, tt.want) {
			t.Errorf("%q: %q, want %q", tt.patterns, have, tt.want)
		}
		for _, name := range have {
			if !slices.ContainsFunc(tt.patterns, func(p string) bool { return regexp.MustCompile(p).MatchString(name) }) {
				t.Errorf("%q does not match %q", tt.patterns, name)
			}
		}
	}
}

func TestHeadersAreThoseOfTheFilter(t *testing.T) {
	m := service.NewMessage(nil)
	for k, v := range map[string]any{"operation": "insert", "key": `{"id":1}`, "n": int64(3), "schema": map[string]any{"type": "OBJECT"}, "other": true} {
		m.MetaSetMut(k, v)
	}
	for _, tt := range []struct{ filter, want string }{
		{"{include_patterns: ['^(operation|n|missing|schema)$']}", `[n=3 operation=insert schema={"type":"OBJECT"}]`},
		{"{include_patterns: ['^(operation|n)'], include_prefixes: [ke]}", `[key={"id":1} n=3 operation=insert]`},
		{"{include_prefixes: [o]}", `[operation=insert other=true]`},
		{"{}", "[]"},
	} {
		cfg, err := parseOutput(outputConf(t, minimalOutput+"metadata: "+tt.filter+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		if cfg.headers != nil {
			cfg.headers.each(m, func(k, v string) error { have = append(have, k+"="+v); return nil })
		}
		slices.Sort(have)
		if got := fmt.Sprint(have); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.filter, got, tt.want)
		}
	}
}
