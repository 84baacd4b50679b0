package catalog

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// maxName is the length of sysname in UTF-16 units.
const maxName = 128

// Quote returns name as a delimited identifier: brackets around it, and closing
// brackets doubled. Every name that goes into a statement goes through here.
func Quote(name string) string {
	return "[" + strings.ReplaceAll(name, "]", "]]") + "]"
}

// QuoteList quotes names and joins them with commas.
func QuoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// Name is the name of a table: schema and object, unquoted and exact.
type Name struct {
	Schema string
	Object string
}

// Quoted returns the name for use in a statement. Without a schema it is the name
// of a temporary table.
func (n Name) Quoted() string {
	if n.Schema == "" {
		return Quote(n.Object)
	}
	return Quote(n.Schema) + "." + Quote(n.Object)
}

// String returns schema.object for people, with brackets only where a part
// would be ambiguous without them. ParseName reads it back.
func (n Name) String() string {
	if n.Schema == "" {
		return display(n.Object)
	}
	return display(n.Schema) + "." + display(n.Object)
}

func display(part string) string {
	if part == "" || strings.ContainsAny(part, ".[]\"") || strings.TrimSpace(part) != part {
		return Quote(part)
	}
	return part
}

// ParseName reads "schema.object", in which a part may be in [brackets] or
// "quotes". A single part is an object of the schema dbo.
func ParseName(text string) (Name, error) {
	var parts []string
	rest := text
	for {
		part, tail, err := cutPart(rest)
		if err != nil {
			return Name{}, fmt.Errorf("parsing table name %q: %w", text, err)
		}
		parts = append(parts, part)
		if tail == "" {
			break
		}
		if tail[0] != '.' {
			return Name{}, fmt.Errorf("parsing table name %q: unexpected text after a quoted part", text)
		}
		rest = tail[1:]
	}
	switch len(parts) {
	case 1:
		return Name{Schema: "dbo", Object: parts[0]}, nil
	case 2:
		return Name{Schema: parts[0], Object: parts[1]}, nil
	}
	return Name{}, fmt.Errorf("parsing table name %q: it has %d parts, at most two are allowed", text, len(parts))
}

// cutPart takes one part of a name off the front of text. What it leaves is
// empty or starts with what follows the part.
func cutPart(text string) (part, rest string, err error) {
	if text == "" {
		return "", "", errors.New("a part is empty")
	}
	end := byte(0)
	switch text[0] {
	case '[':
		end = ']'
	case '"':
		end = '"'
	}
	if end == 0 {
		part, _, _ = strings.Cut(text, ".")
		rest = text[len(part):]
		part = strings.TrimSpace(part)
		if strings.ContainsAny(part, "[]\"") {
			return "", "", errors.New("a bracket or quote inside an unquoted part")
		}
	} else {
		var b strings.Builder
		i := 1
		for {
			if i >= len(text) {
				return "", "", errors.New("a quoted part is not closed")
			}
			if text[i] == end {
				if i+1 < len(text) && text[i+1] == end {
					b.WriteByte(end)
					i += 2
					continue
				}
				break
			}
			b.WriteByte(text[i])
			i++
		}
		part, rest = b.String(), text[i+1:]
	}
	switch {
	case part == "":
		return "", "", errors.New("a part is empty")
	case len(utf16.Encode([]rune(part))) > maxName:
		return "", "", fmt.Errorf("a part is longer than %d characters", maxName)
	}
	return part, rest, nil
}
