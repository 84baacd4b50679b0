package mssqltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/server"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// ruleSet is the rules in force. Its mutex covers the list and the counters only; callbacks and delays run without it.
type ruleSet struct {
	mu    sync.Mutex
	rules []*activeRule
}

type activeRule struct {
	Rule
	seen, acted int
}

// add puts a rule in force until the returned function is called.
func (s *ruleSet) add(r Rule) (remove func()) {
	a := &activeRule{Rule: r}
	s.mu.Lock()
	s.rules = append(slices.Clip(s.rules), a)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rules = slices.DeleteFunc(slices.Clone(s.rules), func(x *activeRule) bool { return x == a })
	}
}

// decide is the server's hook: every rule that matches acts, in the order in which they were added.
func (s *ruleSet) decide(ctx context.Context, ev server.Event) server.Verdict {
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	if len(rules) == 0 {
		return server.Verdict{}
	}
	e := Event(ev)
	var v server.Verdict
	var after []func(Event)
	for _, r := range rules {
		if !r.matches(e) || !s.count(r) {
			continue
		}
		if r.Before != nil {
			r.Before(e)
		}
		if r.Delay > 0 {
			pause(ctx, r.Delay)
		}
		v.Drop = v.Drop || r.Drop
		if r.Cut {
			v.Cut, v.CutAfter = true, r.CutAfter
		}
		if r.Error != 0 && v.Err == nil {
			v.Err = r.sqlError()
		}
		if r.After != nil {
			after = append(after, r.After)
		}
	}
	if after != nil {
		v.After = func() {
			for _, f := range after {
				f(e)
			}
		}
	}
	return v
}

// count notes a match and reports whether the rule acts on it.
func (s *ruleSet) count(r *activeRule) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.seen++
	if r.seen <= r.Skip || (r.Times > 0 && r.acted >= r.Times) {
		return false
	}
	r.acted++
	return true
}

func (r *Rule) matches(e Event) bool {
	switch {
	case r.Kind == "" && (e.Kind == server.KindConnect || e.Kind == server.KindStatement),
		r.Kind != "" && r.Kind != e.Kind,
		r.Conn != 0 && r.Conn != e.Conn,
		r.App != "" && r.App != e.App,
		r.Database != "" && !strings.EqualFold(r.Database, e.Database),
		r.Replica == "primary" && e.Replica != "",
		r.Replica != "" && r.Replica != "primary" && r.Replica != e.Replica,
		r.Text != "" && !strings.Contains(strings.ToLower(e.Text), strings.ToLower(r.Text)):
		return false
	}
	return r.Match == nil || r.Match(e)
}

// sqlError is the answer of an Error rule. Numbers that the stand-in raises itself behave as they do there.
func (r *Rule) sqlError() *sqlerr.Error {
	text, class := r.ErrorMessage, r.Class
	if text == "" {
		text = fmt.Sprintf("Error %d, injected by a rule of the test.", r.Error)
	}
	if class == 0 {
		class = 16
	}
	return &sqlerr.Error{Number: r.Error, State: 1, Class: class, Message: text, Line: 1, EndsBatch: true, DoomsTran: r.Error == 1205}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
