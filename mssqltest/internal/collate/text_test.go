package collate

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// units draws UTF-16LE with lone surrogates in it.
func units() *rapid.Generator[[]byte] {
	unit := rapid.SampledFrom([]uint16{'a', 'é', 0x3042, 0xd83d, 0xde00, 0xd800, 0xdfff, 0xffff, 0})
	return rapid.Map(rapid.SliceOfN(unit, 0, 10), func(us []uint16) []byte {
		var b []byte
		for _, u := range us {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	})
}

// TestUTF16RoundTrip shows that any sequence of code units is kept, and that lengths, cuts and joins count units.
func TestUTF16RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := units().Draw(t, "a"), units().Draw(t, "b")
		s := FromUTF16(a)
		if back := AppendUTF16(nil, s); !bytes.Equal(back, a) {
			t.Fatalf("%x came back as %x", a, back)
		}
		if n := UTF16Len(s); n != len(a)/2 {
			t.Fatalf("length of %x is %d, want %d", a, n, len(a)/2)
		}
		joined := Join(s, FromUTF16(b))
		if want := append(append([]byte(nil), a...), b...); !bytes.Equal(AppendUTF16(nil, joined), want) || joined != FromUTF16(want) {
			t.Fatalf("joining %x and %x gives %x", a, b, AppendUTF16(nil, joined))
		}
		from := rapid.IntRange(0, len(a)/2).Draw(t, "from")
		to := rapid.IntRange(from, len(a)/2+2).Draw(t, "to")
		want := a[2*from : min(2*to, len(a))]
		if got := AppendUTF16(nil, SliceUTF16(s, from, to)); !bytes.Equal(got, want) {
			t.Fatalf("units %d to %d of %x are %x, want %x", from, to, a, got, want)
		}
	})
}

func TestSingleByteCodePages(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, name := range []string{
		DefaultName, "Polish_CI_AS", "Cyrillic_General_CI_AS", "Greek_CI_AS", "Turkish_CI_AS", "Hebrew_CI_AS", "Arabic_CI_AS", "Latvian_CI_AS", "Vietnamese_CI_AS", "Thai_CI_AS",
		"SQL_Latin1_General_CP437_CI_AS", "SQL_Latin1_General_CP850_CI_AS",
	} {
		c := named(t, name)
		back, lossy := c.Encode(c.Decode(all))
		if lossy || !bytes.Equal(back, all) {
			t.Errorf("%s: bytes do not come back from code page %d: %x", name, c.CodePage, back)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, test := range []struct {
		collation, text string
		want            string
		lossy           bool
	}{
		{DefaultName, "é€", "\xe9\x80", false},
		{DefaultName, "日本", "??", true},
		{DefaultName, "😀", "??", true},
		{DefaultName, "\xed\xa0\xbd", "?", true},
		{DefaultName, "Āｘ", "Ax", true},
		{"Polish_CI_AS", "Łódź", "\xa3\xf3d\x9f", false},
		{"Cyrillic_General_CI_AS", "Я", "\xdf", false},
		{"Greek_CI_AS", "Ω", "\xd9", false},
		{"Turkish_CI_AS", "ğİı", "\xf0\xdd\xfd", false},
		{"Hebrew_CI_AS", "א", "\xe0", false},
		{"Arabic_CI_AS", "ا", "\xc7", false},
		{"Latvian_CI_AS", "ģ", "\xec", false},
		{"Thai_CI_AS", "ก", "\xa1", false},
		{"Japanese_CI_AS", "表ソ十", "\x95\x5c\x83\x5c\x8f\x5c", false},
		{"Japanese_CI_AS", "ｱ", "\xb1", false},
		{"Chinese_PRC_CI_AS", "中", "\xd6\xd0", false},
		{"Korean_Wansung_CI_AS", "가", "\xb0\xa1", false},
		{"Chinese_Taiwan_Stroke_CI_AS", "中", "\xa4\xa4", false},
		{"Latin1_General_100_CI_AS_SC_UTF8", "😀é", "\xf0\x9f\x98\x80\xc3\xa9", false},
	} {
		c := named(t, test.collation)
		got, lossy := c.Encode(test.text)
		if string(got) != test.want || lossy != test.lossy {
			t.Errorf("%s: Encode(%q) = %x, %t; want %x, %t", c.Name, test.text, got, lossy, test.want, test.lossy)
		}
		if n := c.EncodedLen(test.text); n != len(test.want) {
			t.Errorf("%s: EncodedLen(%q) = %d, want %d", c.Name, test.text, n, len(test.want))
		}
		if !test.lossy {
			if back := c.Decode(got); back != test.text {
				t.Errorf("%s: Decode(%x) = %q, want %q", c.Name, got, back, test.text)
			}
		}
	}
	if got := named(t, DefaultName).Narrow("a日b"); got != "a?b" {
		t.Errorf("Narrow gives %q", got)
	}
}

// FuzzKey shows that no bytes make a key panic or break its form.
func FuzzKey(f *testing.F) {
	f.Add("a\xed\xa0\xbdb", true)
	f.Add("\xff\xfe", false)
	var cs []*Collation
	for _, n := range []string{DefaultName, "Japanese_CS_AS_KS_WS", "Latin1_General_BIN2", "Latin1_General_BIN", "Chinese_PRC_CI_AS", "Turkish_100_CS_AS_SC"} {
		if c, ok := Lookup(n); ok {
			cs = append(cs, c)
		}
	}
	f.Fuzz(func(t *testing.T, s string, unicode bool) {
		for _, c := range cs {
			k := c.AppendKey(nil, s, unicode)
			if !c.Binary && bytes.IndexByte(k, keyEnd) != len(k)-1 {
				t.Fatalf("%s: key of %q has its end inside: %x", c.Name, s, k)
			}
			if c.Compare(s, s+" ", unicode) != 0 {
				t.Fatalf("%s: %q differs from itself with a blank", c.Name, s)
			}
		}
	})
}
