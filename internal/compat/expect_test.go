package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// errRefused is what a test gives to batches that it refuses.
var errRefused = errors.New("refused by the test")

// expected is a line of expect.
type expected struct {
	text  string
	table string
	op    string
	body  string // compact JSON; "-" for none, "*" for any
	meta  [][2]string
}

func parseExpected(line string) (*expected, error) {
	e := &expected{text: line}
	rest := line
	var err error
	if e.table, rest, err = token(rest); err != nil {
		return nil, err
	}
	if strings.HasPrefix(e.table, `"`) {
		if err := json.Unmarshal([]byte(e.table), &e.table); err != nil {
			return nil, err
		}
	}
	if e.op, rest, err = token(rest); err != nil {
		return nil, err
	}
	if e.body, rest, err = token(rest); err != nil {
		return nil, err
	}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, fmt.Errorf("metadata without a value: %q", rest)
		}
		var value string
		if value, rest, err = token(after); err != nil {
			return nil, err
		}
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				return nil, err
			}
		}
		e.meta = append(e.meta, [2]string{name, value})
	}
	return e, nil
}

// token cuts a JSON value or a bare word off a line.
func token(s string) (tok, rest string, err error) {
	if s == "" {
		return "", "", errors.New("the line is too short")
	}
	if !strings.ContainsRune(`{["`, rune(s[0])) {
		tok, rest, _ = strings.Cut(s, " ")
		return tok, strings.TrimLeft(rest, " "), nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return "", "", fmt.Errorf("JSON in %q: %w", s, err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "", "", err
	}
	return b.String(), strings.TrimLeft(s[d.InputOffset():], " "), nil
}

// match tells what is different, or "".
func (r *rig) match(e *expected, m *received) string {
	got := "-"
	if m.body != nil {
		got = string(m.body)
	}
	switch {
	case m.table != e.table:
		return fmt.Sprintf("table %s", m.table)
	case m.op != e.op && e.op != "*":
		return fmt.Sprintf("operation %s", m.op)
	case e.body != "*" && got != e.body:
		return fmt.Sprintf("body %s", got)
	}
	for _, kv := range e.meta {
		got := text(m.meta, kv[0])
		want := kv[1]
		if strings.HasPrefix(want, "$") {
			if _, ok := r.noted[want]; !ok {
				r.noted[want] = got
			}
			want = r.noted[want]
		}
		if want != got && (want != "*" || got == "absent") {
			return fmt.Sprintf("%s=%s", kv[0], got)
		}
	}
	return ""
}

// text is a metadata value in the form of an expect line.
func text(meta map[string]any, key string) string {
	v, ok := meta[key]
	if !ok {
		return "absent"
	}
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// expectLines waits for the changes of a block and takes them.
func (r *rig) expectLines(block string, ordered bool) error {
	var want []*expected
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		e, err := parseExpected(line)
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		want = append(want, e)
	}
	ctx, cancel := r.bounded()
	defer cancel()
	tables := map[string]int{}
	for _, e := range want {
		tables[e.table]++
	}
	waitErr := r.p.wait(ctx, func() bool {
		have := map[string]int{}
		for _, m := range r.p.received {
			if !r.taken[m] {
				have[m.table]++
			}
		}
		for table, n := range tables {
			if have[table] < n {
				return false
			}
		}
		return true
	})
	got := r.pending(r.p)
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s\nwant:\n%s\ngot:\n%s\nlog:\n%s", fmt.Sprintf(format, args...), indent(block), list(got), r.p.log)
	}
	if waitErr != nil {
		return fail("%d changes came, want %d: %v", len(got), len(want), waitErr)
	}
	next := map[string]int{} // place in got, by table; "" when ordered
	for i, e := range want {
		queue := e.table
		if ordered {
			queue = ""
		}
		at := next[queue]
		for !ordered && got[at].table != e.table {
			at++
		}
		m := got[at]
		if d := r.match(e, m); d != "" {
			return fail("change %d: want %s, got %s", i+1, e.text, d)
		}
		r.taken[m] = true
		next[queue] = at + 1
	}
	return nil
}

// expect is expectLines for Go tests.
func (r *rig) expect(lines string) {
	r.t.Helper()
	if err := r.expectLines(lines, false); err != nil {
		r.t.Fatal(err)
	}
}

// expectNone checks that nothing more comes.
func (r *rig) expectNone() error {
	r.pass(quiet)
	if rest := r.pending(r.p); len(rest) > 0 {
		return fmt.Errorf("want nothing, got:\n%s", list(rest))
	}
	return nil
}

// take waits for n changes that were not expected before, of all tables, and takes them.
func (r *rig) take(n int) []*received {
	r.t.Helper()
	ctx, cancel := r.bounded()
	defer cancel()
	err := r.p.wait(ctx, func() bool { return len(r.left(r.p)) >= n })
	got := r.pending(r.p)
	if err != nil {
		r.t.Fatalf("%d changes came, want %d: %v\n%s\nlog:\n%s", len(got), n, err, list(got), r.p.log)
	}
	for _, m := range got[:n] {
		r.taken[m] = true
	}
	return got[:n]
}

const listed = 40

func list(all []*received) string {
	var b strings.Builder
	for i, m := range all {
		if i == listed {
			fmt.Fprintf(&b, "    … and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintf(&b, "    %s\n", m)
	}
	return b.String()
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

func asError[E error](err error, target *E) bool { return errors.As(err, target) }
