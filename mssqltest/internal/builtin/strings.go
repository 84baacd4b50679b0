package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(
		Func{"LEN", 1, 1, lengthType, strict(length)},
		Func{"DATALENGTH", 1, 1, lengthType, strict(dataLength)},
		Func{"SUBSTRING", 3, 3, substringType, strict(substring)},
		Func{"LEFT", 2, 2, sameText, strict(left)},
		Func{"RIGHT", 2, 2, sameText, strict(right)},
		Func{"LTRIM", 1, 2, sameText, strict(trimmer(true, false))},
		Func{"RTRIM", 1, 2, sameText, strict(trimmer(false, true))},
		Func{"TRIM", 1, 2, sameText, strict(trimmer(true, true))},
		Func{"REPLACE", 3, 3, replaceType, strict(replace)},
		Func{"REPLICATE", 2, 2, replicateType, strict(replicate)},
		Func{"SPACE", 1, 1, always(varchar(8000)), strict(space)},
		Func{"STUFF", 4, 4, stuffType, stuff},
		Func{"TRANSLATE", 3, 3, sameText, strict(translate)},
	)
}

func lengthType(args []value.Type) (value.Type, error) {
	if args[0].Len == value.Max && (args[0].IsChar() || args[0].IsBinary()) {
		return typeBigInt, nil
	}
	return typeInt, nil
}

// sameText is the type of a function that shortens or maps its first argument.
func sameText(args []value.Type) (value.Type, error) {
	switch t := args[0]; {
	case t.ID == value.Image, t.ID == value.CLR, t.ID == value.XML:
		return value.Type{}, invalid(t, 1, "string")
	default:
		return textType(t, value.TextWidth(t)), nil
	}
}

// length counts characters without the blanks at the end.
func length(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := lengthType(types)
	if types[0].IsBinary() {
		return value.NewInt(t.ID, int64(len(args[0].Raw()))), nil
	}
	s, err := text(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	return value.NewInt(t.ID, int64(units(strings.TrimRight(s, " "), types[0]))), nil
}

// supplementary says whether functions count characters of t, not code units.
func supplementary(t value.Type) bool { return t.Coll != nil && t.Coll.SupplementaryChars }

// units is the length of s as functions count: characters of a varchar, code units of an nvarchar, characters of that
// too under a collation with supplementary characters.
func units(s string, t value.Type) int {
	if collate.IsASCII(s) {
		return len(s)
	}
	if supplementary(t) || !t.IsUnicode() && t.IsChar() {
		n := 0
		for i := 0; i < len(s); n++ {
			_, w := collate.NextRune(s[i:])
			i += w
		}
		return n
	}
	return collate.UTF16Len(s)
}

// slice cuts the units [from, to) out of s.
func slice(s string, from, to int, t value.Type) string {
	if from < 0 {
		from = 0
	}
	if to <= from {
		return ""
	}
	if collate.IsASCII(s) || !supplementary(t) && (t.IsUnicode() || !t.IsChar()) {
		return collate.SliceUTF16(s, from, to)
	}
	start, n := -1, 0
	for i := 0; i < len(s); n++ {
		if n == from {
			start = i
		}
		if n == to {
			return s[start:i]
		}
		_, w := collate.NextRune(s[i:])
		i += w
	}
	if start < 0 {
		return ""
	}
	return s[start:]
}

// dataLength counts bytes as they are stored.
func dataLength(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	rt, _ := lengthType(types)
	return value.NewInt(rt.ID, int64(StoredLen(args[0], types[0]))), nil
}

// StoredLen returns DATALENGTH of a value that is not NULL.
func StoredLen(v value.Value, t value.Type) int {
	switch {
	case t.ID == value.Variant:
		return StoredLen(v.Variant())
	case t.ID == value.Char || t.ID == value.VarChar || t.ID == value.Text:
		if t.Coll == nil {
			return collate.Default().EncodedLen(v.Str())
		}
		return t.Coll.EncodedLen(v.Str())
	case t.IsUnicode():
		return 2 * collate.UTF16Len(v.Str())
	case t.IsBinary(), t.ID == value.CLR:
		return len(v.Raw())
	}
	return t.MaxLength()
}

func substringType(args []value.Type) (value.Type, error) {
	switch t := args[0]; {
	case t.IsBinary():
		out := value.Type{ID: value.VarBinary, Len: t.Len}
		if t.ID == value.Image {
			out.Len = 8000
		}
		return out, nil
	case t.IsChar():
		return textType(t, t.Len), nil
	default:
		return value.Type{}, invalid(t, 1, "substring")
	}
}

// substring counts from 1; a start before 1 uses up length. Error 537: negative length.
func substring(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	start, err := integer(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[2], types[2])
	if err != nil {
		return value.Value{}, err
	}
	if n < 0 {
		return value.Value{}, sqlerr.New(537)
	}
	from, to := start-1, start-1+n
	if to < start-1 {
		to = 1 << 31
	}
	from, to = min(max(from, 0), 1<<31), min(max(to, 0), 1<<31)
	rt, _ := substringType(types)
	if types[0].IsBinary() {
		raw := args[0].Raw()
		lo, hi := min(int(from), len(raw)), min(int(to), len(raw))
		return value.NewRaw(rt.ID, raw[lo:max(lo, hi)]), nil
	}
	return value.NewString(rt.ID, slice(args[0].Str(), int(from), int(to), types[0])), nil
}

func leftRight(env *value.Env, args []value.Value, types []value.Type, name string) (s string, n, all int, t value.Type, err error) {
	t, err = sameText(types)
	if err != nil {
		return
	}
	if s, err = text(env, args[0], types[0]); err != nil {
		return
	}
	k, err := integer(env, args[1], types[1])
	if err != nil {
		return
	}
	if k < 0 {
		if name == "left" {
			err = sqlerr.New(537)
		} else {
			err = sqlerr.New(536, name)
		}
		return
	}
	all = units(s, types[0])
	return s, int(min(k, int64(all))), all, t, nil
}

func left(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, n, _, t, err := leftRight(env, args, types, "left")
	if err != nil {
		return value.Value{}, err
	}
	return value.NewString(t.ID, slice(s, 0, n, types[0])), nil
}

func right(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	s, n, all, t, err := leftRight(env, args, types, "right")
	if err != nil {
		return value.Value{}, err
	}
	return value.NewString(t.ID, slice(s, all-n, all, types[0])), nil
}

// trimmer drops blanks, or the characters of the second argument.
func trimmer(front, back bool) evalFunc {
	return func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		t, err := sameText(types)
		if err != nil {
			return value.Value{}, err
		}
		s, err := text(env, args[0], types[0])
		if err != nil {
			return value.Value{}, err
		}
		cut := " "
		if len(args) > 1 {
			if cut, err = text(env, args[1], types[1]); err != nil {
				return value.Value{}, err
			}
		}
		if front {
			s = strings.TrimLeft(s, cut)
		}
		if back {
			s = strings.TrimRight(s, cut)
		}
		return value.NewString(t.ID, s), nil
	}
}

// replaceType: nvarchar if any argument is.
func replaceType(args []value.Type) (value.Type, error) {
	t := textType(args[0], 8000)
	for _, a := range args[1:] {
		if a.IsUnicode() && !t.IsUnicode() {
			t.ID, t.Len = value.NVarChar, min(t.Len, 4000)
		}
	}
	return t, nil
}

func collationOf(env *value.Env, types []value.Type) (*collate.Collation, bool) {
	uni := false
	var c *collate.Collation
	for _, t := range types {
		uni = uni || t.IsUnicode()
		if c == nil && t.IsChar() {
			c = t.Coll
		}
	}
	if c == nil {
		c = env.Collation()
	}
	return c, uni
}

// texts converts all arguments.
func texts(env *value.Env, args []value.Value, types []value.Type) ([]string, error) {
	out := make([]string, len(args))
	for i := range args {
		var err error
		if out[i], err = text(env, args[i], types[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func replace(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := replaceType(types)
	ss, err := texts(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	s, old, with := ss[0], ss[1], ss[2]
	if old == "" {
		return value.NewString(t.ID, s), nil
	}
	c, uni := collationOf(env, types)
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := matchAt(s[i:], old, c, uni); n > 0 {
			b.WriteString(with)
			i += n
			continue
		}
		_, w := collate.NextRune(s[i:])
		b.WriteString(s[i : i+w])
		i += w
	}
	return value.NewString(t.ID, value.FitText(b.String(), t)), nil
}

func replicateType(args []value.Type) (value.Type, error) { return textType(args[0], 8000), nil }

// maxText bounds what REPLICATE and SPACE make.
const maxText = 64 << 20

func replicate(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := replicateType(types)
	s, err := text(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[1], types[1])
	if err != nil || n < 0 {
		return value.Value{}, err
	}
	if t.Len != value.Max && s != "" {
		n = min(n, int64(t.Len/max(1, units(s, types[0]))+1))
	}
	if len(s) > 0 && n > int64(maxText/len(s)) {
		return value.Value{}, sqlerr.New(701)
	}
	return value.NewString(t.ID, value.FitText(strings.Repeat(s, int(n)), t)), nil
}

func space(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integer(env, args[0], types[0])
	if err != nil || n < 0 {
		return value.Value{}, err
	}
	return value.NewVarChar(strings.Repeat(" ", int(min(n, 8000)))), nil
}

func stuffType(args []value.Type) (value.Type, error) {
	if args[0].IsBinary() {
		return typeVarBin, nil
	}
	return replaceType([]value.Type{args[0], args[3]})
}

// stuff replaces a part; it gives NULL when the start lies outside of the text. A NULL to put in only deletes.
func stuff(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	if args[0].IsNull() || args[1].IsNull() || args[2].IsNull() {
		return value.Value{}, nil
	}
	start, err := integer(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[2], types[2])
	if err != nil {
		return value.Value{}, err
	}
	t, _ := stuffType(types)
	if types[0].IsBinary() {
		raw := args[0].Raw()
		if start < 1 || n < 0 || start > int64(len(raw)) {
			return value.Value{}, nil
		}
		end := min(start-1+n, int64(len(raw)))
		return value.NewRaw(t.ID, raw[:start-1]+args[3].Raw()+raw[end:]), nil
	}
	s, err := text(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	all := int64(units(s, types[0]))
	if start < 1 || n < 0 || start > all {
		return value.Value{}, nil
	}
	with := ""
	if !args[3].IsNull() {
		if with, err = text(env, args[3], types[3]); err != nil {
			return value.Value{}, err
		}
	}
	end := int(min(start-1+n, all))
	out := collate.Join(collate.Join(slice(s, 0, int(start-1), types[0]), with), slice(s, end, int(all), types[0]))
	return value.NewString(t.ID, value.FitText(out, t)), nil
}

// translate maps characters one to one. Error 9828: the lists differ in length.
func translate(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := sameText(types)
	ss, err := texts(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	from, to := []rune(ss[1]), []rune(ss[2])
	if len(from) != len(to) {
		return value.Value{}, sqlerr.New(9828)
	}
	c, uni := collationOf(env, types)
	return value.NewString(t.ID, mapRunes(ss[0], func(r rune) rune {
		for i, f := range from {
			if f == r || equalExactly(string(f), string(r), c, uni) {
				return to[i]
			}
		}
		return r
	})), nil
}
