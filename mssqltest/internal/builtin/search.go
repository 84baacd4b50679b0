package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(
		Func{"CHARINDEX", 2, 3, searchType, strict(charIndex)},
		Func{"PATINDEX", 2, 2, searchType, strict(patIndex)},
		Func{"CONCAT", 1, 254, concatType, concat},
		Func{"CONCAT_WS", 2, 254, concatType, concatWS},
		Func{"QUOTENAME", 1, 2, always(nvarchar(258)), strict(quoteName)},
		Func{"PARSENAME", 2, 2, always(value.Type{ID: value.NVarChar, Len: 128}), strict(parseName)},
		Func{"ASCII", 1, 1, always(typeInt), strict(ascii)},
		Func{"UNICODE", 1, 1, always(typeInt), strict(unicodeOf)},
		Func{"CHAR", 1, 1, always(value.Type{ID: value.Char, Len: 1}), strict(char)},
		Func{"NCHAR", 1, 1, always(value.Type{ID: value.NVarChar, Len: 2}), strict(nchar)},
		Func{"STRING_ESCAPE", 2, 2, always(typeNMax), strict(stringEscape)},
	)
}

func searchType(args []value.Type) (value.Type, error) {
	if args[1].IsLOB() {
		return typeBigInt, nil
	}
	return typeInt, nil
}

// charIndex gives the place of a text in another from 1, 0 for none.
func charIndex(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := searchType(types)
	ss, err := texts(env, args[:2], types[:2])
	if err != nil {
		return value.Value{}, err
	}
	start := int64(1)
	if len(args) > 2 {
		if start, err = integer(env, args[2], types[2]); err != nil {
			return value.Value{}, err
		}
	}
	find, s := ss[0], ss[1]
	if find == "" {
		return value.NewInt(t.ID, 0), nil
	}
	c, uni := collationOf(env, types[:2])
	for i, n := 0, int64(1); i < len(s); n++ {
		if n >= start && matchAt(s[i:], find, c, uni) >= 0 {
			return value.NewInt(t.ID, n), nil
		}
		r, w := collate.NextRune(s[i:])
		if r >= 0x10000 && types[1].IsUnicode() && !supplementary(types[1]) {
			n++
		}
		i += w
	}
	return value.NewInt(t.ID, 0), nil
}

// patIndex gives where the first match of a pattern of LIKE begins.
func patIndex(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := searchType(types)
	ss, err := texts(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	pattern, s := ss[0], ss[1]
	c, uni := collationOf(env, types)
	items := compileLike(strings.TrimPrefix(pattern, "%"), "")
	m := likeMatcher{c: c, unicode: uni}
	if !strings.HasPrefix(pattern, "%") {
		if m.match(s, items) {
			return value.NewInt(t.ID, 1), nil
		}
		return value.NewInt(t.ID, 0), nil
	}
	for i, n := 0, int64(1); i <= len(s); n++ {
		if m.match(s[i:], items) {
			if i == len(s) && s != "" {
				break
			}
			return value.NewInt(t.ID, n), nil
		}
		if i == len(s) {
			break
		}
		r, w := collate.NextRune(s[i:])
		if r >= 0x10000 && types[1].IsUnicode() && !supplementary(types[1]) {
			n++
		}
		i += w
	}
	return value.NewInt(t.ID, 0), nil
}

func concatType(args []value.Type) (value.Type, error) {
	t := value.Type{ID: value.VarChar}
	for _, a := range args {
		n := value.TextWidth(a)
		if a.IsUnicode() {
			t.ID = value.NVarChar
		}
		if a.IsChar() && t.Coll == nil {
			t.Coll = a.Coll
		}
		if n == value.Max || t.Len == value.Max {
			t.Len = value.Max
			continue
		}
		t.Len += n
	}
	most := 8000
	if t.IsUnicode() {
		most = 4000
	}
	if t.Len != value.Max {
		t.Len = max(1, min(t.Len, most))
	}
	return t, nil
}

// concat takes NULL for an empty text.
func concat(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := concatType(types)
	out := ""
	for i, a := range args {
		if a.IsNull() {
			continue
		}
		s, err := text(env, a, types[i])
		if err != nil {
			return value.Value{}, err
		}
		out = collate.Join(out, s)
	}
	return value.NewString(t.ID, value.FitText(out, t)), nil
}

// concatWS leaves NULLs out, with their separator.
func concatWS(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := concatType(types)
	var parts []string
	sep := ""
	for i, a := range args {
		if a.IsNull() {
			continue
		}
		s, err := text(env, a, types[i])
		if err != nil {
			return value.Value{}, err
		}
		if i == 0 {
			sep = s
			continue
		}
		parts = append(parts, s)
	}
	return value.NewString(t.ID, value.FitText(strings.Join(parts, sep), t)), nil
}

// quoteName gives NULL for a name of more than 128 characters and for a quote that is none.
func quoteName(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, err := text(env, args[0], types[0])
	if err != nil || collate.UTF16Len(s) > 128 {
		return value.Value{}, err
	}
	q := "["
	if len(args) > 1 {
		if q, err = text(env, args[1], types[1]); err != nil {
			return value.Value{}, err
		}
	}
	pairs := map[string][2]string{
		"[": {"[", "]"}, "]": {"[", "]"}, "'": {"'", "'"}, "\"": {"\"", "\""}, "(": {"(", ")"}, ")": {"(", ")"}, "{": {"{", "}"}, "}": {"{", "}"}, "<": {"<", ">"}, ">": {"<", ">"}, "`": {"`", "`"},
	}
	p, ok := pairs[q]
	if !ok {
		return value.Value{}, nil
	}
	return value.NewNVarChar(p[0] + strings.ReplaceAll(s, p[1], p[1]+p[1]) + p[1]), nil
}

// parseName gives part 1 object, 2 schema, 3 database, 4 server of a name of several parts.
func parseName(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, err := text(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	parts, ok := SplitName(s)
	if !ok || n < 1 || n > int64(len(parts)) || parts[len(parts)-int(n)] == "" {
		return value.Value{}, nil
	}
	return value.NewNVarChar(parts[len(parts)-int(n)]), nil
}

// SplitName parts a name of up to four parts with brackets or quotation marks; ok is false if it is not well formed.
func SplitName(s string) (parts []string, ok bool) {
	for {
		part, rest, good := namePart(s)
		if !good || len(parts) == 4 {
			return nil, false
		}
		parts = append(parts, part)
		if rest == "" {
			return parts, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		s = rest[1:]
	}
}

func namePart(s string) (part, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if s == "" || s[0] != '[' && s[0] != '"' {
		i := strings.IndexByte(s, '.')
		if i < 0 {
			i = len(s)
		}
		p := strings.TrimRight(s[:i], " ")
		return p, s[i:], !strings.ContainsAny(p, "[]\"")
	}
	end := byte(']')
	if s[0] == '"' {
		end = '"'
	}
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
		return b.String(), strings.TrimLeft(s[i+1:], " "), true
	}
	return "", "", false
}

func ascii(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, err := text(env, args[0], types[0])
	if err != nil || s == "" {
		return value.Value{}, err
	}
	c, _ := collationOf(env, types)
	_, w := collate.NextRune(s)
	b, _ := c.Encode(s[:w])
	return value.NewInt(value.Int, int64(b[0])), nil
}

func unicodeOf(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, err := text(env, args[0], types[0])
	if err != nil || s == "" {
		return value.Value{}, err
	}
	r, _ := collate.NextRune(s)
	if r >= 0x10000 && !supplementary(types[0]) {
		r = 0xd800 | (r-0x10000)>>10
	}
	return value.NewInt(value.Int, int64(r)), nil
}

func char(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integer(env, args[0], types[0])
	if err != nil || n < 0 || n > 255 {
		return value.Value{}, err
	}
	return value.NewString(value.Char, env.Collation().Decode([]byte{byte(n)})), nil
}

func nchar(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integer(env, args[0], types[0])
	most := int64(0xffff)
	if env.Collation().SupplementaryChars {
		most = 0x10ffff
	}
	if err != nil || n < 0 || n > most {
		return value.Value{}, err
	}
	return value.NewNVarChar(string(collate.AppendRune(nil, rune(n)))), nil
}

func stringEscape(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	ss, err := texts(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	if !strings.EqualFold(ss[1], "json") {
		return value.Value{}, sqlerr.New(1023, 2, "string_escape")
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(ss[0]) {
		switch c := ss[0][i]; {
		case c == '"', c == '\\', c == '/':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\b':
			b.WriteString(`\b`)
		case c == '\f':
			b.WriteString(`\f`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ':
			b.WriteString(`\u00`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return value.NewNVarChar(b.String()), nil
}
