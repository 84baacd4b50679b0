package snapshot

import (
	"errors"
	"fmt"
	"strings"
)

// checkFilter refuses what is not one condition by itself. The server would take
// "a = 1) OR (1 = 1" as well, and read more than was asked for, without an end.
func checkFilter(s string) error {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"' || c == '[':
			n := quoted(s[i:])
			if n < 0 {
				return fmt.Errorf("a %c is not closed", c)
			}
			i += n
			continue
		case strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				n = len(s) - i
			}
			i += n
			continue
		case strings.HasPrefix(s[i:], "/*"):
			n := comment(s[i:])
			if n < 0 {
				return errors.New("a comment is not closed")
			}
			i += n
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
			if depth < 0 {
				return errors.New("a ) closes nothing")
			}
		case c == ';':
			return errors.New("it has a semicolon")
		}
		i++
	}
	if depth > 0 {
		return errors.New("a ( is not closed")
	}
	return nil
}

// quoted is the length of the string or delimited identifier that s begins with,
// -1 if it does not end.
func quoted(s string) int {
	last := s[0]
	if last == '[' {
		last = ']'
	}
	for i := 1; i < len(s); i++ {
		if s[i] != last {
			continue
		}
		if i+1 < len(s) && s[i+1] == last {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

// comment is the length of the comment that s begins with, which may hold others.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
