package merge

import (
	"strings"
	"testing"
)

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
