package builtin

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"math/bits"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	guid := value.Type{ID: value.UniqueIdentifier}
	newID := func(env *value.Env, _ []value.Value, _ []value.Type) (value.Value, error) {
		return value.NewGUID(env.GUID()), nil
	}
	register(
		Func{"NEWID", 0, 0, always(guid), newID},
		Func{"NEWSEQUENTIALID", 0, 0, always(guid), newID},
		Func{"CHECKSUM", 1, -1, always(typeInt), checksum(false)},
		Func{"BINARY_CHECKSUM", 1, -1, always(typeInt), checksum(true)},
		Func{"HASHBYTES", 2, 2, always(typeVarBin), strict(hashBytes)},
		Func{"SQL_VARIANT_PROPERTY", 2, 2, always(value.Type{ID: value.Variant}), strict(variantProperty)},
		Func{"COLLATIONPROPERTY", 2, 2, always(value.Type{ID: value.Variant}), strict(collationProperty)},
		Func{"GREATEST", 1, 254, widest, choose(1)},
		Func{"LEAST", 1, 254, widest, choose(-1)},
	)
}

// checksum mixes the keys of the values: equal values give equal sums, under the collation or, binary, by their bytes. The
// numbers are not those of a server.
func checksum(exact bool) evalFunc {
	return func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		h := uint32(0)
		for i, a := range args {
			t := types[i]
			if exact && t.IsChar() && !a.IsNull() {
				a, t = value.NewVarBinary(collate.AppendUTF16(nil, a.Str())), typeVarBin
			}
			h = bits.RotateLeft32(h, 4)
			for _, b := range value.AppendKey(nil, a, t, false) {
				h = bits.RotateLeft32(h, 5) ^ uint32(b)*0x01000193
			}
		}
		return value.NewInt(value.Int, int64(int32(h))), nil
	}
}

// hashBytes gives NULL for an algorithm that it does not know.
func hashBytes(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	in := []byte(args[1].Raw())
	if types[1].IsChar() {
		out, err := value.Convert(env, args[1], types[1], value.Type{ID: value.VarBinary, Len: value.Max}, 0)
		if err != nil {
			return value.Value{}, err
		}
		in = out.Bytes()
	} else if !types[1].IsBinary() {
		return value.Value{}, invalid(types[1], 2, "hashbytes")
	}
	var sum []byte
	switch strings.ToUpper(args[0].Str()) {
	case "MD5":
		s := md5.Sum(in)
		sum = s[:]
	case "SHA", "SHA1":
		s := sha1.Sum(in)
		sum = s[:]
	case "SHA2_256":
		s := sha256.Sum256(in)
		sum = s[:]
	case "SHA2_512":
		s := sha512.Sum512(in)
		sum = s[:]
	default:
		return value.Value{}, nil
	}
	return value.NewVarBinary(sum), nil
}

// variantProperty tells of the value in a sql_variant, or of any other value.
func variantProperty(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	v, t := args[0], types[0]
	if t.ID == value.Variant {
		v, t = v.Variant()
	}
	intOf := func(n int) (value.Value, error) {
		return value.NewVariant(value.NewInt(value.Int, int64(n)), typeInt), nil
	}
	nameOf := func(s string) (value.Value, error) {
		return value.NewVariant(value.NewNVarChar(s), nvarchar(128)), nil
	}
	p, s := t.CatalogPrecision()
	switch strings.ToLower(strings.TrimSpace(args[1].Str())) {
	case "basetype":
		return nameOf(t.ID.String())
	case "precision":
		return intOf(int(p))
	case "scale":
		return intOf(int(s))
	case "maxlength":
		return intOf(t.MaxLength())
	case "totalbytes":
		return intOf(StoredLen(v, t) + 2)
	case "collation":
		if t.IsChar() && t.Coll != nil {
			return nameOf(t.Coll.Name)
		}
	}
	return value.Value{}, nil
}

func collationProperty(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	c, ok := collate.Lookup(args[0].Str())
	if !ok {
		return value.Value{}, nil
	}
	n := 0
	switch strings.ToLower(args[1].Str()) {
	case "codepage":
		n = c.CodePage
	case "lcid":
		n = int(c.LCID)
	case "comparisonstyle":
		for _, f := range []struct {
			on bool
			n  int
		}{{c.CaseInsensitive, 1}, {c.AccentInsensitive, 2}, {c.KanaInsensitive, 65536}, {c.WidthInsensitive, 131072}} {
			if f.on && !c.Binary {
				n += f.n
			}
		}
	case "version":
		n = c.Version()
	default:
		return value.Value{}, nil
	}
	return value.NewVariant(value.NewInt(value.Int, int64(n)), typeInt), nil
}

// widest is the common type of all arguments.
func widest(args []value.Type) (value.Type, error) {
	t := args[0]
	for _, a := range args[1:] {
		var err error
		if t, err = value.Common(t, a); err != nil {
			return t, err
		}
	}
	if t.IsLOB() && !t.IsChar() {
		return t, sqlerr.New(8117, t.ID.String(), "greatest")
	}
	return t, nil
}

// choose gives the greatest or the least of the arguments that are not NULL.
func choose(sign int) evalFunc {
	return func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		t, err := widest(types)
		if err != nil {
			return value.Value{}, err
		}
		var best value.Value
		for i, a := range args {
			v, err := value.Convert(env, a, types[i], t, 0)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() && (best.IsNull() || value.Compare(v, best, t) == sign) {
				best = v
			}
		}
		return best, nil
	}
}
