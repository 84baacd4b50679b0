package merge

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	const change = "0000002a000001b80003-00000001-0000002a000001b80002-2"
	order := []string{ // each below the next
		"0000002a000001b80002-00000001-0000002a000001b80002-2", change, `0x0000002a000001b80003-read-dbo.t-{"id":9}`, "0000002a000001b80004-00000000-0000002a000001b80004-1",
	}
	for i := range order {
		for j := range order {
			a, b := token(t, order[i]), token(t, order[j])
			c, err := a.Compare(b)
			if err != nil || (c < 0) != (i < j) || (c > 0) != (i > j) {
				t.Errorf("%s and %s: %d, %v", order[i], order[j], c, err)
			}
		}
	}
	for _, tt := range []struct {
		token, mark string
		passed      bool
	}{
		{"9", "10", true}, {"10", "10", true}, {"11", "10", false}, {"0010", "10", true}, {"100", "99", false}, {"0", "", false},
		{change, change, true}, {"b", "a", false}, {"a", "a", true},
		{`0x0000002a000001b80003-read-dbo.t-{"id":1}`, `0x0000002a000001b80003-read-dbo.t-{"id":9}`, false}, // in no order
		{`0x0000002a000001b80003-read-dbo.t-{"id":1}`, order[3], true},
		{`0x0000002a000001b80003-read-dbo.t-{"id":1}`, change, false},
	} {
		mark := Token{}
		if tt.mark != "" {
			mark = token(t, token(t, tt.mark).String()) // as the fence keeps it
		}
		if got, err := token(t, tt.token).Passed(mark); err != nil || got != tt.passed {
			t.Errorf("%s at %s: %t, %v", tt.token, tt.mark, got, err)
		}
	}
	if _, err := token(t, "17").Compare(token(t, "x")); err == nil {
		t.Error("tokens of two kinds were compared")
	}
	for _, bad := range []string{"", "null", strings.Repeat("x", 401)} {
		if _, err := ParseToken(bad); err == nil {
			t.Errorf("%.20q is a token", bad)
		}
	}
	if !token(t, order[2]).Snapshot() || token(t, change).Snapshot() || !token(t, token(t, order[2]).String()).Snapshot() {
		t.Error("rows of a snapshot are not told from changes")
	}
}

func token(t *testing.T, text string) Token {
	t.Helper()
	k, err := ParseToken(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return k
}

// The event ids of rows that were read are one token for each LSN, with 0x before it as once and without, however long their keys are.
func TestTokensOfRowsThatWereRead(t *testing.T) {
	const lsn = "00000025000001d80001"
	for _, text := range []string{lsn + `-read-dbo.k-{"id":1}`, "0x" + lsn + `-read-dbo.k-{"id":2}`, lsn + `-read-dbo.k-{"id":"` + strings.Repeat("x", 900) + `"}`} {
		token, err := ParseToken(text)
		if err != nil || !token.Snapshot() || token.String() != lsn+"~" {
			t.Fatalf("%.60s: %q, %v", text, token, err)
		}
		for change, want := range map[string]bool{lsn + "-00000001-00000025000001d80002-4": false, "00000025000001d90001-00000001-00000025000001d80002-4": true} {
			mark, err := ParseToken(change)
			if err != nil {
				t.Fatal(err)
			}
			if passed, err := token.Passed(mark); err != nil || passed != want {
				t.Errorf("passed by %s: %v, %v", change, passed, err)
			}
		}
		if passed, err := token.Passed(token); err != nil || passed {
			t.Errorf("rows of one snapshot pass each other: %v, %v", passed, err)
		}
	}
}
