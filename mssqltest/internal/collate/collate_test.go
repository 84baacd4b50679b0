package collate

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func named(t *testing.T, name string) *Collation {
	t.Helper()
	c, ok := Lookup(name)
	if !ok {
		t.Fatalf("Lookup(%q): no such collation", name)
	}
	return c
}

func TestLookup(t *testing.T) {
	for _, test := range []struct {
		name, canonical string
		codePage        int
		wire            [5]byte
	}{
		{"SQL_Latin1_General_CP1_CI_AS", "SQL_Latin1_General_CP1_CI_AS", 1252, [5]byte{0x09, 0x04, 0xd0, 0x00, 0x34}},
		{"sql_latin1_general_cp1_cs_as", "SQL_Latin1_General_CP1_CS_AS", 1252, [5]byte{0x09, 0x04, 0xc0, 0x00, 0x33}},
		{"Latin1_General_CI_AS", "Latin1_General_CI_AS", 1252, [5]byte{0x09, 0x04, 0xd0, 0x00, 0x00}},
		{"Latin1_General_BIN", "Latin1_General_BIN", 1252, [5]byte{0x09, 0x04, 0x00, 0x01, 0x00}},
		{"Latin1_General_BIN2", "Latin1_General_BIN2", 1252, [5]byte{0x09, 0x04, 0x00, 0x02, 0x00}},
		{"latin1_general_100_ci_as_sc_utf8", "Latin1_General_100_CI_AS_SC_UTF8", 65001, [5]byte{0x09, 0x04, 0xd0, 0x24, 0x00}},
		{"Japanese_CI_AS", "Japanese_CI_AS", 932, [5]byte{0x11, 0x04, 0xd0, 0x00, 0x00}},
		{"Japanese_XJIS_140_CS_AS_KS_WS", "Japanese_XJIS_140_CS_AS_KS_WS", 932, [5]byte{0x11, 0x04, 0x00, 0x30, 0x00}},
		{"Chinese_PRC_CI_AS", "Chinese_PRC_CI_AS", 936, [5]byte{0x04, 0x08, 0xd0, 0x00, 0x00}},
		{"Chinese_PRC_Stroke_CI_AS", "Chinese_PRC_Stroke_CI_AS", 936, [5]byte{0x04, 0x08, 0xd2, 0x00, 0x00}},
		{"Korean_Wansung_CI_AS", "Korean_Wansung_CI_AS", 949, [5]byte{0x12, 0x04, 0xd0, 0x00, 0x00}},
		{"Turkish_CI_AS", "Turkish_CI_AS", 1254, [5]byte{0x1f, 0x04, 0xd0, 0x00, 0x00}},
		{"Cyrillic_General_CI_AI", "Cyrillic_General_CI_AI", 1251, [5]byte{0x19, 0x04, 0xf0, 0x00, 0x00}},
		{"Polish_100_CI_AS", "Polish_100_CI_AS", 1250, [5]byte{0x15, 0x04, 0xd0, 0x20, 0x00}},
		{"SQL_Latin1_General_CP1254_CI_AS", "SQL_Latin1_General_CP1254_CI_AS", 1254, [5]byte{0x1f, 0x04, 0xd0, 0x00, 0x82}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := named(t, test.name)
			if c.Name != test.canonical || c.CodePage != test.codePage || c.Wire() != test.wire {
				t.Errorf("got %s, code page %d, wire %x; want %s, %d, %x", c.Name, c.CodePage, c.Wire(), test.canonical, test.codePage, test.wire)
			}
			if again := named(t, test.canonical); again != c {
				t.Errorf("two pointers for %s", c.Name)
			}
			if back := FromWire(c.Wire()); back.Wire() != c.Wire() || back.CodePage != c.CodePage {
				t.Errorf("FromWire(%x) = %s", c.Wire(), back.Name)
			}
		})
	}
	for _, name := range []string{"", "Latin1_General", "Latin1_General_CI", "Latin1_General_CI_AS_XX", "SQL_Latin1_General_CP1", "Nonsense_CI_AS", "SQL_Latin1_General_CP1_BIN2", "Latin1_General_CI_AS_UTF8"} {
		if c, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) = %s, want none", name, c.Name)
		}
	}
	if c := FromWire([5]byte{}); c != Default() {
		t.Errorf("FromWire of zeros = %s", c.Name)
	}
}

func TestNamesAreAllFound(t *testing.T) {
	for _, n := range Names() {
		c, ok := Lookup(n)
		if !ok || c.Name != n {
			t.Errorf("Lookup(%q) = %v, %t", n, c, ok)
		}
	}
}

func TestCompare(t *testing.T) {
	const (
		def = DefaultName
		win = "Latin1_General_CI_AS"
		cs  = "Latin1_General_CS_AS"
		sc  = "Latin1_General_100_CI_AS_SC"
	)
	for _, test := range []struct {
		name      string
		collation string
		unicode   bool
		a, b      string
		want      int
	}{
		{"case ignored", def, true, "Abc", "aBC", 0},
		{"case ignored in varchar", def, false, "Abc", "aBC", 0},
		{"blanks at the end", def, true, "a", "a   ", 0},
		{"blanks at the end, binary", "Latin1_General_BIN2", true, "a", "a   ", 0},
		{"binary pads with blanks", "Latin1_General_BIN2", true, "a\x01", "a", -1},
		{"binary pads with blanks in the old order", "Latin1_General_BIN", true, "ab\x01", "ab", -1},
		{"binary blanks inside", "Latin1_General_BIN2", true, "a  b", "a b", -1},
		{"binary blanks inside, below", "Latin1_General_BIN2", true, "a  \x01", "a \x01", 1},
		{"word sort: hyphen last", def, true, "co-op", "coop", 1},
		{"word sort: hyphen does not part words", def, true, "co-op", "coor", -1},
		{"word sort: letters first", def, true, "a-c", "ab", 1},
		{"string sort: hyphen is a character", def, false, "a-c", "ab", -1},
		{"string sort: apostrophe is a character", def, false, "it's", "itn", -1},
		{"word sort: apostrophe", def, true, "it's", "itn", 1},
		{"Windows varchar is word sort", win, false, "a-c", "ab", 1},
		{"underscore before digit", win, true, "a_b", "a1b", -1},
		{"digit before letter", win, true, "a1", "aa", -1},
		{"plus after tilde", win, true, "+", "~", 1},
		{"string sort plus before tilde", def, false, "+", "~", -1},
		{"capital after small", cs, true, "a", "A", -1},
		{"capital before small in the sort orders", "SQL_Latin1_General_CP1_CS_AS", false, "a", "A", 1},
		{"nvarchar of the same collation", "SQL_Latin1_General_CP1_CS_AS", true, "a", "A", -1},
		{"case after letters", cs, true, "Ab", "aa", 1},
		{"accent", win, true, "cote", "côte", -1},
		{"accent below letters", win, true, "côte", "cotf", -1},
		{"accent ignored", "Latin1_General_CI_AI", true, "cote", "CÔTÉ", 0},
		{"composed and decomposed", win, true, "e\u0301", "é", 0},
		{"sharp s expands", win, true, "straße", "strasse", 0},
		{"sharp s does not expand in varchar", def, false, "straße", "strasse", -1},
		{"kana ignored", "Japanese_CI_AS", true, "あ", "ア", 0},
		{"kana sensitive", "Japanese_CI_AS_KS", true, "あ", "ア", -1},
		{"width ignored", "Japanese_CI_AS", true, "ABC", "ＡＢＣ", 0},
		{"width sensitive", "Japanese_CI_AS_WS", true, "ABC", "ＡＢＣ", -1},
		{"half-width katakana with voice mark", "Japanese_CI_AS", true, "ガ", "ｶﾞ", 0},
		{"voice mark is an accent", "Japanese_CI_AS", true, "か", "が", -1},
		{"Turkish dotless", "Turkish_CI_AS", true, "INFO", "info", -1},
		{"Turkish dotted", "Turkish_CI_AS", true, "İNFO", "info", 0},
		{"Turkish dotless pair", "Turkish_CI_AS", true, "I", "ı", 0},
		{"not Turkish", win, true, "INFO", "info", 0},
		{"Polish letters", "Polish_CI_AS", true, "ą", "az", 1},
		{"Swedish letters", "Finnish_Swedish_CI_AS", true, "ä", "z", 1},
		{"Spanish letters", "Modern_Spanish_CI_AS", true, "ñ", "nz", 1},
		{"phone book", "German_PhoneBook_CI_AS", true, "Ärger", "Aerger", 0},
		{"Cyrillic after Latin", win, true, "я", "z", 1},
		{"Cyrillic case", "Cyrillic_General_CI_AS", true, "Я", "я", 0},
		{"Han by sound", "Chinese_PRC_CI_AS", true, "阿", "北", -1},
		{"Han by sound, not by code", "Chinese_PRC_CI_AS", true, "中", "北", 1},
		{"Han by code elsewhere", win, true, "中", "北", -1},
		{"no weight for emoji in version 80", def, true, "😀", "", 0},
		{"emoji weigh in version 100", sc, true, "😀", "", 1},
		{"emoji differ in version 100", sc, true, "😀", "😁", -1},
		{"control characters weigh nothing", win, true, "a\x00b", "ab", 0},
		{"superscript is a variant", win, true, "2", "²", 0},
		{"superscript is a variant, case sensitive", cs, true, "2", "²", -1},
		{"BIN2 by code unit", "Latin1_General_BIN2", true, "\uffff", "😀", 1},
		{"UTF-8 BIN2 by byte", "Latin1_General_100_BIN2_UTF8", false, "\uffff", "😀", -1},
		{"old binary looks at low bytes", "Latin1_General_BIN", true, "a\u0102", "a\u0201", 1},
		{"first unit of the old binary by value", "Latin1_General_BIN", true, "\u0102", "\u0201", -1},
		{"code page order", "Japanese_BIN", false, "表", "ソ", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := named(t, test.collation)
			if got := c.Compare(test.a, test.b, test.unicode); got != test.want {
				t.Errorf("%s: Compare(%q, %q, %t) = %d, want %d\nkeys %x and %x", c.Name, test.a, test.b, test.unicode, got, test.want,
					c.AppendKey(nil, test.a, test.unicode), c.AppendKey(nil, test.b, test.unicode))
			}
			if got := c.Compare(test.b, test.a, test.unicode); got != -test.want {
				t.Errorf("%s: Compare(%q, %q, %t) = %d, want %d", c.Name, test.b, test.a, test.unicode, got, -test.want)
			}
		})
	}
}

// someCollations draws a collation of every kind.
func someCollations() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		DefaultName, "SQL_Latin1_General_CP1_CS_AS", "Latin1_General_CI_AS", "Latin1_General_CS_AS_KS_WS", "Latin1_General_CI_AI", "Latin1_General_BIN",
		"Latin1_General_BIN2", "Turkish_CS_AS", "Japanese_CI_AS", "Chinese_PRC_CI_AS", "Latin1_General_100_CI_AS_SC_UTF8", "Latin1_General_100_BIN2_UTF8", "Polish_CS_AS",
	})
}

// TestASCIIFastPath shows that the short ways give what the full key gives.
func TestASCIIFastPath(t *testing.T) {
	ascii := rapid.StringOfN(rapid.RuneFrom([]rune("aAbBiIzZ01 -'_+~\t\x00\x01\x1f\x7f.,")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		name := someCollations().Draw(t, "collation")
		c, _ := Lookup(name)
		if c.Binary {
			return
		}
		unicode := rapid.Bool().Draw(t, "unicode")
		a, b := ascii.Draw(t, "a"), ascii.Draw(t, "b")
		table := c.table(unicode)
		fa, fb := c.appendFullKey(nil, trimBlanks(a), table), c.appendFullKey(nil, trimBlanks(b), table)
		if got := c.AppendKey(nil, a, unicode); !bytes.Equal(got, fa) {
			t.Fatalf("%s: key of %q is %x, the full one %x", name, a, got, fa)
		}
		if got, want := c.Compare(a, b, unicode), bytes.Compare(fa, fb); got != want {
			t.Fatalf("%s: Compare(%q, %q) = %d, by full keys %d", name, a, b, got, want)
		}
	})
}

// TestKeys shows that keys order as Compare does, hold for prefixes, and that equality is what it should be.
func TestKeys(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aAäßæ -'éе́ЯабあアｱÀ²😀中北\u0301İıñ\x01\uffff\u0e01")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		name := someCollations().Draw(t, "collation")
		c, _ := Lookup(name)
		unicode := rapid.Bool().Draw(t, "unicode")
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		ka, kb := c.AppendKey(nil, a, unicode), c.AppendKey(nil, b, unicode)
		if got, want := c.Compare(a, b, unicode), bytes.Compare(ka, kb); got != want {
			t.Fatalf("%s: Compare(%q, %q) = %d, keys %x %x", name, a, b, got, ka, kb)
		}
		if !bytes.Equal(ka, kb) && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("%s: keys of %q and %q: one is a prefix of the other: %x %x", name, a, b, ka, kb)
		}
		if c.Compare(a, a+"  ", unicode) != 0 {
			t.Fatalf("%s: %q differs from itself with blanks", name, a)
		}
		// Joined keys order by their first part, then by their second.
		if want := bytes.Compare(ka, kb); want != 0 {
			x := c.AppendKey(c.AppendKey(nil, a, unicode), b, unicode)
			y := c.AppendKey(c.AppendKey(nil, b, unicode), a, unicode)
			if got := bytes.Compare(x, y); got != want {
				t.Fatalf("%s: joined keys of %q and %q compare as %d, want %d", name, a, b, got, want)
			}
		}
	})
}

// TestBinaryPadding shows that a binary order is that of the strings filled with blanks.
func TestBinaryPadding(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab  \x01\x1f!~é\u3000")), 0, 8, -1)
	c := named(t, "Latin1_General_BIN2")
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		pad := func(s string) []byte {
			var out []byte
			for _, r := range s {
				out = append(out, byte(r>>8), byte(r))
			}
			for len(out) < 32 {
				out = append(out, 0, ' ')
			}
			return out
		}
		if got, want := c.Compare(a, b, true), bytes.Compare(pad(a), pad(b)); got != want {
			t.Fatalf("Compare(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func BenchmarkAppendKeyASCII(b *testing.B) {
	c := Default()
	var buf [128]byte
	b.ReportAllocs()
	for b.Loop() {
		c.AppendKey(buf[:0], "Customer 0000012345", true)
	}
}

func BenchmarkCompareAccents(b *testing.B) {
	c := Default()
	b.ReportAllocs()
	for b.Loop() {
		c.Compare("Antônio Carlos Jobim", "Antônio Carlos Jobin", true)
	}
}
