package mssqltest

import (
	"context"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/server"
)

func TestRuleMatches(t *testing.T) {
	ev := server.Event{Conn: 3, App: "reader", Database: "TestDB", Kind: server.KindRPC, Text: "sp_executesql SELECT a FROM cdc.x"}
	for name, tc := range map[string]struct {
		rule Rule
		want bool
	}{
		"empty":          {Rule{}, true},
		"text, any case": {Rule{Text: "from CDC.x"}, true},
		"other text":     {Rule{Text: "from cdc.y"}, false},
		"kind":           {Rule{Kind: "rpc"}, true},
		"other kind":     {Rule{Kind: "batch"}, false},
		"conn":           {Rule{Conn: 3}, true},
		"other conn":     {Rule{Conn: 4}, false},
		"app":            {Rule{App: "reader"}, true},
		"other app":      {Rule{App: "writer"}, false},
		"database":       {Rule{Database: "testdb"}, true},
		"primary":        {Rule{Replica: "primary"}, true},
		"replica":        {Rule{Replica: "r1"}, false},
		"match":          {Rule{Match: func(e Event) bool { return e.Conn == 2 }}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s ruleSet
			hit := false
			tc.rule.Before = func(Event) { hit = true }
			s.add(tc.rule)
			s.decide(context.Background(), ev)
			if hit != tc.want {
				t.Errorf("rule %+v acted = %v, want %v", tc.rule, hit, tc.want)
			}
		})
	}
}

func TestRuleCounts(t *testing.T) {
	var s ruleSet
	hits := 0
	remove := s.add(Rule{Skip: 2, Times: 3, Before: func(Event) { hits++ }})
	for range 10 {
		s.decide(context.Background(), server.Event{Kind: server.KindBatch})
	}
	if hits != 3 {
		t.Errorf("acted %d times, want 3", hits)
	}
	s.add(Rule{Error: 1205, Times: 1})
	if v := s.decide(context.Background(), server.Event{Kind: server.KindBatch}); v.Err == nil || v.Err.Number != 1205 {
		t.Errorf("verdict %+v, want error 1205", v)
	}
	remove()
	if n := len(s.rules); n != 1 {
		t.Errorf("%d rules after remove, want 1", n)
	}
}
