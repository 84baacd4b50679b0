package tds

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

func units(u ...uint16) (b []byte) {
	for _, x := range u {
		b = binary.LittleEndian.AppendUint16(b, x)
	}
	return b
}

// TestAppendValidUTF8 puts texts of every width at every distance from a chance for eight units.
func TestAppendValidUTF8(t *testing.T) {
	for before := range 20 {
		for _, s := range []string{"", "a", "é", "ö€", "名前", "😀", "a😀é名", strings.Repeat("😀", 9), strings.Repeat("é", 17), strings.Repeat("€", 21), "€é", "\uD7FF\uE000\uFFFD\uFFFF", "\u007F\u0080\u07FF\u0800"} {
			want := strings.Repeat("x", before) + s
			if before%2 == 0 {
				want += "tail of eight and more"
			}
			b := units(utf16.Encode([]rune(want))...)
			got, n := AppendValidUTF8([]byte("kept "), b)
			if string(got) != "kept "+want || n != len(b)/2 {
				t.Fatalf("%q: got %q of %d units", want, got, n)
			}
			room := make([]byte, 3, 3+MaxUTF8(len(b)))
			if got, _ := AppendValidUTF8(room, b); &got[:1][0] != &room[0] {
				t.Fatalf("%q: moved although there was room for all", want)
			}
		}
	}
}

func TestAppendValidUTF8StopsAtLoneSurrogates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		units []uint16
		text  string
		at    int
	}{
		{"high at the end", []uint16{'a', 0xD83D}, "a", 1},
		{"high before a letter", []uint16{0xD83D, 'b'}, "", 0},
		{"low alone", []uint16{'a', 'b', 0xDE00, 'c'}, "ab", 2},
		{"two high ones", []uint16{0xD83D, 0xD83D, 0xDE00}, "", 0},
		{"after a pair", []uint16{0xD83D, 0xDE00, 0xDE00}, "😀", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, n := AppendValidUTF8(nil, units(tt.units...))
			if string(got) != tt.text || n != tt.at {
				t.Errorf("got %q and %d, want %q and %d", got, n, tt.text, tt.at)
			}
			whole := AppendUTF8(nil, units(tt.units...))
			if back := AppendUTF16(nil, string(whole)); !bytes.Equal(back, units(tt.units...)) {
				t.Errorf("WTF-8 and back: %x", back)
			}
		})
	}
}

func TestAppendUTF8DropsAnOddByte(t *testing.T) {
	if got := AppendUTF8(nil, []byte{'a', 0, 'b'}); string(got) != "a" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkAppendValidUTF8(b *testing.B) {
	for _, tt := range []struct{ name, text string }{
		{"ASCII", strings.Repeat("0123456789", 55)},
		{"mixed", strings.Repeat("Zażółć gęślą jaźń ", 30)},
		{"Japanese", strings.Repeat("東京都千代田区", 78)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			in := units(utf16.Encode([]rune(tt.text))...)
			out := make([]byte, 0, MaxUTF8(len(in)))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				out, _ = AppendValidUTF8(out[:0], in)
			}
		})
	}
}
