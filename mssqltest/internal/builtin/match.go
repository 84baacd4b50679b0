package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// matchAt returns the length of the prefix of s that equals pattern under the collation, or -1. Prefixes of the pattern's
// length in bytes are tried first.
func matchAt(s, pattern string, c *collate.Collation, uni bool) int {
	if strings.HasPrefix(s, pattern) {
		return len(pattern)
	}
	if c.Binary || pattern == "" {
		return -1
	}
	want := units(pattern, value.Type{ID: value.VarChar})
	end := 0
	for range want {
		if end >= len(s) {
			return -1
		}
		_, w := collate.NextRune(s[end:])
		end += w
	}
	if equalExactly(s[:end], pattern, c, uni) {
		return end
	}
	return -1
}

// equalExactly is equality that counts blanks at the end.
func equalExactly(a, b string, c *collate.Collation, uni bool) bool {
	return c.Compare(a+".", b+".", uni) == 0
}
