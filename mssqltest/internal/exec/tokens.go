package exec

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// token is a lexical token with its place in bytes and in UTF-16 code units, which teesql's spans count.
type token struct {
	kind parser.TokenType
	text string
	pos  int // bytes
	u16  int // UTF-16 code units
	u16e int // end, in code units
}

// is reports whether the token is the given word or sign, in any case.
func (t token) is(word string) bool { return strings.EqualFold(t.text, word) }

// end is the offset in bytes behind the token.
func (t token) end() int { return t.pos + len(t.text) }

// tokenize reads all tokens. Strings, quoted names and comments that do not end are errors 105 and 113, which teesql
// lets through.
func tokenize(text string) ([]token, error) {
	if err := unclosed(text); err != nil {
		return nil, err
	}
	ascii := isASCII(text)
	lx := parser.NewLexer(text)
	skew := len(text) - len(strings.TrimPrefix(text, "\xef\xbb\xbf"))
	var toks []token
	at, units := 0, 0
	for {
		t := lx.NextToken()
		if t.Type == parser.TokenEOF {
			return toks, nil
		}
		if t.Type == parser.TokenError && !negated(text[t.Pos+skew:]) {
			return nil, near102(t.Literal)
		}
		tk := token{kind: t.Type, text: t.Literal, pos: t.Pos + skew}
		if ascii {
			tk.u16, tk.u16e = tk.pos, tk.pos+len(tk.text)
		} else {
			units += utf16Units(text[at:tk.pos])
			at = tk.pos
			tk.u16 = units
			tk.u16e = units + utf16Units(tk.text)
		}
		toks = append(toks, tk)
	}
}

// negated reports whether a text begins with !=, !< or !>, whose sign the lexer does not know and the parser does.
func negated(s string) bool {
	return len(s) > 1 && s[0] == '!' && strings.IndexByte("=<>", s[1]) >= 0
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// unclosed finds a string, a quoted name or a comment without an end.
func unclosed(s string) error {
	line := int32(1)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			line++
		case c == '-' && strings.HasPrefix(s[i:], "--"):
			j := strings.IndexByte(s[i:], '\n')
			if j < 0 {
				return nil
			}
			i += j - 1
		case c == '/' && strings.HasPrefix(s[i:], "/*"):
			depth, start := 1, line
			for i += 2; depth > 0; i++ {
				switch {
				case i >= len(s):
					e := sqlerr.New(113)
					e.Line = start
					return e
				case strings.HasPrefix(s[i:], "/*"):
					depth++
					i++
				case strings.HasPrefix(s[i:], "*/"):
					depth--
					i++
				case s[i] == '\n':
					line++
				}
			}
			i--
		case c == '\'' || c == '"' || c == '[':
			q := c
			if c == '[' {
				q = ']'
			}
			start, from := line, i+1
			for i++; ; i++ {
				if i >= len(s) {
					e := sqlerr.New(105, s[from:])
					e.Line = start
					return e
				}
				if s[i] == '\n' {
					line++
				}
				if s[i] == q {
					if i+1 < len(s) && s[i+1] == q {
						i++
						continue
					}
					break
				}
			}
		}
	}
	return nil
}

// lineIndex finds the line of an offset.
type lineIndex struct{ starts []int }

func newLineIndex(text string) lineIndex {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return lineIndex{starts}
}

// line is the 1-based line of a byte offset.
func (x lineIndex) line(pos int) int32 {
	return int32(sort.SearchInts(x.starts, pos+1))
}
