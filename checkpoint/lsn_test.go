package checkpoint

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func lsn(t testing.TB, s string) LSN {
	t.Helper()
	l, err := ParseLSN(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The bytes are unsigned and compared from the left: no integer type holds them.
func TestLSNOrder(t *testing.T) {
	ordered := []LSN{{}}
	for _, s := range []string{"0x00000000000000000001", "0x0000000100000000ffff", "0x00000001000000010000", "0x7fffffffffffffffffff", "0x80000000000000000000", "0xffffffff00000001abcd"} {
		ordered = append(ordered, lsn(t, s))
	}
	ordered = append(ordered, MaxLSN)
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%s compared with %s = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestLSNNext(t *testing.T) {
	for in, want := range map[string]string{
		"0x00000000000000000000": "0x00000000000000000001",
		"0x0000000000000000ffff": "0x00000000000000010000",
		"0x00ffffffffffffffffff": "0x01000000000000000000",
		"0xfffffffffffffffffffe": "0xffffffffffffffffffff",
		"0xffffffffffffffffffff": "0xffffffffffffffffffff",
	} {
		if got := lsn(t, in).Next(); got.String() != want {
			t.Errorf("%s.Next() = %s, want %s", in, got, want)
		}
	}
}

func TestLSNText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l LSN
		copy(l[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(t, "bytes"))
		text := l.String()
		if back, err := ParseLSN(text); err != nil || back != l {
			t.Errorf("ParseLSN(%s) = %s, %v", text, back, err)
		}
		if back, err := ParseLSN("0X" + strings.ToUpper(text[2:])); err != nil || back != l {
			t.Errorf("ParseLSN of upper case = %s, %v", back, err)
		}
		j, err := json.Marshal(l)
		var back LSN
		if err != nil || string(j) != `"`+text+`"` || json.Unmarshal(j, &back) != nil || back != l {
			t.Errorf("JSON of %s is %s, %v", text, j, err)
		}
		if b, err := LSNFromBytes(l[:]); err != nil || b != l {
			t.Errorf("LSNFromBytes = %s, %v", b, err)
		}
	})
	// Nothing that a code page could change.
	if text := lsn(t, "0x00008d8f00909d8180ff").String(); bytes.ContainsFunc([]byte(text), func(r rune) bool { return r > 'x' || r < '0' }) {
		t.Errorf("text form %q", text)
	}
	for _, bad := range []string{"", "0x", "0x00", "00000000000000000000", "0x0000000000000000000g", "0x000000000000000000000", "1x00000000000000000000", "0x 0000000000000000000"} {
		if l, err := ParseLSN(bad); err == nil {
			t.Errorf("ParseLSN(%q) = %s, want an error", bad, l)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 9), make([]byte, 11)} {
		if l, err := LSNFromBytes(bad); err == nil {
			t.Errorf("LSNFromBytes(%x) = %s, want an error", bad, l)
		}
	}
}
