package exec

import (
	"slices"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// sortKey is one ORDER BY element.
type sortKey struct {
	e    *expr
	desc bool
}

// sortKeyOf appends the encoded sort key of the current row; keys compare bytewise.
func sortKeyOf(dst []byte, keys []sortKey, f *frame) ([]byte, error) {
	for _, k := range keys {
		v, err := k.e.eval(f)
		if err != nil {
			return nil, err
		}
		dst = value.AppendKey(dst, v, keyType(k.e.typ), k.desc)
	}
	return dst, nil
}

// keyType is the type that a value is encoded in as a key: NULL of no type counts as int.
func keyType(t value.Type) value.Type {
	if t.ID == value.Null {
		return typeInt
	}
	return t
}

func sortKept(ks []keptArgs) {
	slices.SortStableFunc(ks, func(a, b keptArgs) int { return strings.Compare(a.key, b.key) })
}

// rowKey appends the key of a whole row, for DISTINCT, UNION and the like.
func rowKeyOf(dst []byte, row []value.Value, types []value.Type) []byte {
	for i, v := range row {
		dst = value.AppendKey(dst, v, keyType(types[i]), false)
	}
	return dst
}
