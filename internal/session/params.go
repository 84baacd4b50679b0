package session

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// arguments builds the call of sp_executesql: the statement, the declaration of
// its parameters, and their values by name. The server converts each value to
// its declared type before the statement sees it, so the declaration decides
// what an index can be searched with.
func arguments(text, declaration string, values []driver.Value) ([]driver.NamedValue, error) {
	names, err := parameterNames(declaration)
	if err != nil {
		return nil, err
	}
	if len(names) != len(values) {
		return nil, fmt.Errorf("querying: %d parameters declared, %d given", len(names), len(values))
	}
	out := make([]driver.NamedValue, 0, len(values)+2)
	out = append(out, driver.NamedValue{Ordinal: 1, Name: "stmt", Value: text})
	if len(values) == 0 {
		return out, nil
	}
	out = append(out, driver.NamedValue{Ordinal: 2, Name: "params", Value: declaration})
	for i, v := range values {
		if b, ok := v.([]byte); ok && b == nil {
			v = nil
		}
		out = append(out, driver.NamedValue{Ordinal: i + 3, Name: names[i], Value: v})
	}
	return out, nil
}

// parameterNames lists the names of "@a binary(10), @b decimal(10,2)" without
// their at-signs.
func parameterNames(declaration string) ([]string, error) {
	var names []string
	depth, start := 0, 0
	add := func(part string) error {
		name, _, found := strings.Cut(strings.TrimSpace(part), " ")
		if !found || len(name) < 2 || name[0] != '@' {
			return fmt.Errorf("querying: parameter declaration %q is malformed", declaration)
		}
		names = append(names, name[1:])
		return nil
	}
	if strings.TrimSpace(declaration) == "" {
		return nil, nil
	}
	for i := range len(declaration) {
		switch declaration[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				if err := add(declaration[start:i]); err != nil {
					return nil, err
				}
				start = i + 1
			}
		}
	}
	if err := add(declaration[start:]); err != nil {
		return nil, err
	}
	return names, nil
}
