package storage

import (
	"encoding/binary"
	"fmt"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// appendValueKey appends the order-preserving form of one key value.
func appendValueKey(dst []byte, v value.Value, t value.Type, desc bool) []byte {
	at := len(dst)
	switch {
	case v.IsNull():
		dst = append(dst, 0)
	case t.IsChar():
		dst = collate.Default().AppendKey(append(dst, 1), v.Str(), true)
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 1), uint64(v.Int())^1<<63)
	}
	if desc {
		for i := at; i < len(dst); i++ {
			dst[i] ^= 0xff
		}
	}
	return dst
}

func formatValue(v value.Value, t value.Type) string {
	if t.IsChar() {
		return v.Str()
	}
	return fmt.Sprint(v.Int())
}
