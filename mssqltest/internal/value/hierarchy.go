package value

import (
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// ordPattern is how a range of ordinals is written in a hierarchyid: x stands for a bit of the ordinal less the lowest,
// T for the end of the level (MS-SSCLRT, "HierarchyId Structure").
type ordPattern struct {
	low, high int64
	bits      string
}

// ordPatterns covers ordinals of four digits and small negative ones.
var ordPatterns = []ordPattern{
	{0, 3, "01xxT"}, {4, 7, "100xxT"}, {8, 15, "101xxxT"}, {16, 79, "110xx0x1xxxT"}, {80, 1103, "1110xxx0xxx0x1xxxT"}, {1104, 5199, "11110xxxxx0xxx0x1xxxT"},
	{-8, -1, "00111xxxT"}, {-72, -9, "0010xx0x1xxxT"},
}

const hierarchyID = "hierarchyid"

// parseHierarchy reads "/1/2/"; levels with dots are not supported. Error 6522.
func parseHierarchy(s string) (Value, error) {
	bad := sqlerr.New(6522, hierarchyID, "24001: SqlHierarchyId.Parse failed because the input string '"+shown(s)+"' is not a valid string representation of a SqlHierarchyId node.")
	if !strings.HasPrefix(s, "/") || !strings.HasSuffix(s, "/") {
		return Value{}, bad
	}
	if s == "/" {
		return NewRaw(CLR, ""), nil
	}
	var w strings.Builder
	for _, level := range strings.Split(s[1:len(s)-1], "/") {
		n, err := strconv.ParseInt(level, 10, 32)
		if err != nil || !appendOrdinal(&w, n) {
			return Value{}, bad
		}
	}
	bits := w.String()
	raw := make([]byte, (len(bits)+7)/8)
	for i := range len(bits) {
		if bits[i] == '1' {
			raw[i/8] |= 0x80 >> (i % 8)
		}
	}
	return NewBinary(CLR, raw), nil
}

func appendOrdinal(w *strings.Builder, n int64) bool {
	for _, p := range ordPatterns {
		if n < p.low || n > p.high {
			continue
		}
		left := strings.Count(p.bits, "x")
		for _, c := range p.bits {
			switch c {
			case 'x':
				left--
				w.WriteByte('0' + byte((n-p.low)>>left&1))
			case 'T':
				w.WriteByte('1')
			default:
				w.WriteRune(c)
			}
		}
		return true
	}
	return false
}

// hierarchyText is the reverse of parseHierarchy.
func hierarchyText(raw string) (string, error) {
	out := "/"
	at, total := 0, 8*len(raw)
	bit := func(i int) byte {
		if i >= total {
			return '0'
		}
		return '0' + raw[i/8]>>(7-i%8)&1
	}
	for at < total {
		rest := false
		for i := at; i < total; i++ {
			rest = rest || bit(i) == '1'
		}
		if !rest {
			return out, nil // what fills the last byte
		}
		n, width, ok := matchOrdinal(bit, at)
		if !ok || at+width > total {
			return "", sqlerr.New(6522, hierarchyID, "24000: SqlHierarchyId operation failed because the value is not supported.")
		}
		out += strconv.FormatInt(n, 10) + "/"
		at += width
	}
	return out, nil
}

func matchOrdinal(bit func(int) byte, at int) (n int64, width int, ok bool) {
	for _, p := range ordPatterns {
		n, ok = 0, true
		for i := range len(p.bits) {
			b := bit(at + i)
			switch p.bits[i] {
			case 'x':
				n = n<<1 | int64(b-'0')
			case 'T':
				ok = ok && b == '1'
			default:
				ok = ok && b == p.bits[i]
			}
		}
		if ok {
			return n + p.low, len(p.bits), true
		}
	}
	return 0, 0, false
}
