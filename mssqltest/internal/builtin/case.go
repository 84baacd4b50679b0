package builtin

import (
	"unicode"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(
		Func{"UPPER", 1, 1, sameText, mapText(upper)},
		Func{"LOWER", 1, 1, sameText, mapText(lower)},
		Func{"REVERSE", 1, 1, sameText, mapText(reverse)},
		Func{"DIFFERENCE", 2, 2, always(typeInt), strict(soundDifference)},
		Func{"SOUNDEX", 1, 1, always(varchar(4)), soundexOf},
	)
}

// mapText makes a function of a text under the collation.
func mapText(f func(s string, c *collate.Collation) string) evalFunc {
	return strict(func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		t, err := sameText(types)
		if err != nil {
			return value.Value{}, err
		}
		s, err := text(env, args[0], types[0])
		if err != nil {
			return value.Value{}, err
		}
		c := types[0].Coll
		if c == nil {
			c = env.Collation()
		}
		return value.NewString(t.ID, f(s, c)), nil
	})
}

func turkish(c *collate.Collation) bool {
	return c.LCID == 0x041f || c.LCID == 0x042c || c.LCID == 0x0443
}

// mapRunes maps character by character and keeps lone surrogates.
func mapRunes(s string, f func(rune) rune) string {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, w := collate.NextRune(s[i:])
		dst = collate.AppendRune(dst, f(r))
		i += w
	}
	return string(dst)
}

func upper(s string, c *collate.Collation) string {
	return mapRunes(s, func(r rune) rune {
		switch {
		case turkish(c) && r == 'i':
			return 'İ'
		case r == 'ß', r == 'ŉ', r == 'ı' && !turkish(c):
			return r
		}
		return unicode.ToUpper(r)
	})
}

func lower(s string, c *collate.Collation) string {
	return mapRunes(s, func(r rune) rune {
		switch {
		case turkish(c) && r == 'I':
			return 'ı'
		case r == 'İ':
			return 'i'
		}
		return unicode.ToLower(r)
	})
}

func reverse(s string, c *collate.Collation) string {
	if collate.IsASCII(s) {
		b := []byte(s)
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		return string(b)
	}
	dst := make([]byte, 0, len(s))
	for end := len(s); end > 0; {
		start := end - 1
		for start > 0 && s[start]&0xc0 == 0x80 {
			start--
		}
		dst = append(dst, s[start:end]...)
		end = start
	}
	return string(dst)
}

func soundexOf(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	v, err := mapText(soundex)(env, args, types)
	if err != nil || v.IsNull() {
		return value.Value{}, err
	}
	return value.NewVarChar(v.Str()), nil
}

// soundDifference counts the places in which the sounds of two texts agree, 0 to 4.
func soundDifference(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	var codes [2]string
	for i := range codes {
		v, err := soundexOf(env, args[i:i+1], types[i:i+1])
		if err != nil {
			return value.Value{}, err
		}
		codes[i] = v.Str()
	}
	n := int64(0)
	for i := range min(len(codes[0]), len(codes[1])) {
		if codes[0][i] == codes[1][i] {
			n++
		}
	}
	return value.NewInt(value.Int, n), nil
}

// soundexDigits are the digits of the letters A to Z; 0 for those without one.
const soundexDigits = "01230120022455012623010202"

// soundex is the first letter and three digits for how the rest sounds.
func soundex(s string, _ *collate.Collation) string {
	out := make([]byte, 0, 4)
	last := byte('0')
	for i := 0; i < len(s) && len(out) < 4; i++ {
		c := s[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		d := soundexDigits[c-'A']
		switch {
		case i == 0:
			out = append(out, c)
		case d != '0' && d != last:
			out = append(out, d)
		case c == 'H' || c == 'W':
			continue
		}
		last = d
	}
	for len(out) < 4 {
		if len(out) == 0 {
			return "0000"
		}
		out = append(out, '0')
	}
	return string(out)
}
