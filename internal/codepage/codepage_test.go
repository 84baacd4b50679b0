package codepage

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func wire(info uint32, sort byte) (c [5]byte) {
	binary.LittleEndian.PutUint32(c[:], info)
	c[4] = sort
	return c
}

func TestOfCollation(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    [5]byte
		want int
	}{
		{"SQL_Latin1_General_CP1_CI_AS", wire(0x00D00409, 52), 1252},
		{"SQL_Latin1_General_CP437_CI_AS", wire(0x00D00409, 32), 437},
		{"SQL_Latin1_General_CP850_BIN2", wire(0x02000409, 40), 850},
		{"SQL_Czech_CP1250_CS_AS", wire(0x00C00405, 83), 1250},
		{"Cyrillic_General_CI_AS", wire(0x00D00419, 0), 1251},
		{"Greek_100_CI_AS", wire(0x20D00408, 0), 1253},
		{"Japanese_XJIS_100_CI_AS", wire(0x20D00411, 0), 932},
		{"Chinese_PRC_CI_AS", wire(0x00D00804, 0), 936},
		{"Chinese_Taiwan_Stroke_CI_AS", wire(0x00D00404, 0), 950},
		{"Serbian_Cyrillic_100_CI_AS", wire(0x20D0201A, 0), 1251},
		{"Croatian_CI_AS", wire(0x00D0041A, 0), 1250},
		{"Latin1_General_100_CI_AS_SC_UTF8", wire(0x24D00409, 0), UTF8},
	} {
		if got := OfCollation(tt.c); got != tt.want {
			t.Errorf("%s: page %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		name  string
		page  int
		bytes string
		want  string
		err   error
	}{
		{"1252", 1252, "caf\xE9 \x80", "café €", nil},
		{"what 1252 leaves out", 1252, "\x81\x8D\x8F\x90\x9D", "\u0081\u008D\u008F\u0090\u009D", nil},
		{"1251", 1251, "\xCF\xF0\xE8\xE2\xE5\xF2", "Привет", nil},
		{"what 1253 leaves out", 1253, "a\xD2b", "a\uFFFDb", ErrUndefined},
		{"437", 437, "\x82\xE1", "éß", nil},
		{"932", 932, "a\x93\x8C\x8B\x9Ez", "a東京z", nil},
		{"half a character of 932", 932, "a\x93", "a\uFFFD", ErrUndefined},
		{"UTF-8", UTF8, "é名😀", "é名😀", nil},
		{"not UTF-8", UTF8, "a\xFFb", "a\uFFFDb", ErrUndefined},
		{"ASCII", 1254, strings.Repeat("0123456789", 9), strings.Repeat("0123456789", 9), nil},
		{"nothing", 1252, "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := NewDecoder(tt.page)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Append([]byte("> "), []byte(tt.bytes), true)
			if string(got) != "> "+tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q and %v, want %q and %v", got, err, tt.want, tt.err)
			}
		})
	}
	d, err := NewDecoder(1252)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Append(nil, []byte("a\x81"), false); string(got) != "a\uFFFD" || !errors.Is(err, ErrUndefined) {
		t.Errorf("without control characters: %q, %v", got, err)
	}
	if _, err := NewDecoder(1); err == nil {
		t.Error("there is a page 1")
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(1252, []byte("a\x81\xE9"))
	f.Add(932, []byte("\x93\x8C\x81"))
	f.Add(UTF8, []byte("\xF0\x9F"))
	f.Fuzz(func(t *testing.T, page int, b []byte) {
		d, err := NewDecoder(page)
		if err != nil {
			return
		}
		if out, _ := d.Append(nil, b, len(b)%2 == 0); !utf8.Valid(out) {
			t.Errorf("%x of page %d gives %x", b, page, out)
		}
	})
}
