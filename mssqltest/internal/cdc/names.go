package cdc

import "strings"

// splitNames splits a comma-separated list of column names, each plain, [bracketed] or "quoted". ok is false when the
// list is not well formed.
func splitNames(list string) (names []string, ok bool) {
	rest := strings.TrimSpace(list)
	for {
		name, tail, ok := cutName(rest)
		if !ok {
			return nil, false
		}
		names = append(names, name)
		tail = strings.TrimSpace(tail)
		if tail == "" {
			return names, true
		}
		if tail[0] != ',' {
			return nil, false
		}
		rest = strings.TrimSpace(tail[1:])
	}
}

// cutName cuts the first name off a list.
func cutName(s string) (name, tail string, ok bool) {
	if s == "" {
		return "", "", false
	}
	if s[0] != '[' && s[0] != '"' {
		name, tail, found := strings.Cut(s, ",")
		if found {
			tail = "," + tail
		}
		name = strings.TrimSpace(name)
		return name, tail, name != ""
	}
	end := map[byte]byte{'[': ']', '"': '"'}[s[0]]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == end {
			b.WriteByte(end)
			i++
			continue
		}
		return b.String(), s[i+1:], b.Len() > 0
	}
	return "", "", false
}

// quoteName brackets a name.
func quoteName(s string) string { return "[" + strings.ReplaceAll(s, "]", "]]") + "]" }
