package tds

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// fuzzLimits are low, so that a decoder that trusts a length shows it at once.
var fuzzLimits = Limits{Token: 64 << 10, Row: 64 << 10}

// checkBuffer fails if a stream Reader's buffer outgrew what the limits and its doubling allow.
func checkBuffer(t *testing.T, r *Reader) {
	if cap(r.buf) > 4*fuzzLimits.Row {
		t.Fatalf("the buffer grew to %d bytes", cap(r.buf))
	}
}

func FuzzPrelogin(f *testing.F) {
	f.Add(unhex(f, "00 001a 0006 01 0020 0001 02 0021 0001 03 0022 0004 04 0026 0001 ff 09 00 0000 0000 01 00 b80d0000 01"))
	f.Add([]byte{0xFF})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePrelogin(b)
		if err != nil {
			return
		}
		again, err := ParsePrelogin(p.Append(nil))
		again.HasEncryption = p.HasEncryption
		if err == nil && again.Version != p.Version || err != nil && len(b) < 1000 {
			t.Fatalf("%+v became %+v, %v", p, again, err)
		}
	})
}

func FuzzLogin7(f *testing.F) {
	l := Login7{TDSVersion: Version74, UserName: "sa", Password: "p", Features: []Feature{{FeatureUTF8Support, []byte{1}}}, SSPI: []byte{1}}
	f.Add(l.Append(nil))
	l.Features = nil
	f.Add(l.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLogin7(b)
		if err != nil {
			return
		}
		if again, err := ParseLogin7(l.Append(nil)); err == nil && again.TDSVersion != l.TDSVersion {
			t.Fatalf("%+v became %+v", l, again)
		}
	})
}

func FuzzRPC(f *testing.F) {
	f.Add(unhex(f, headersHex+"ffff 0a00 0000 00 00 e7 401f 0904d00034 0200 7800 02 4000 6100 01 26 04 04 01000000 ff 0300 610062006300 0200"))
	f.Add(unhex(f, headersHex+"ffff 0c00 0000 00 00 e7 ffff 0904d00034 feffffffffffffff 02000000 6800 02000000 6900 00000000 80 ffff 0f00 0000 ff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseRPC(append([]byte(nil), b...))
		if err != nil {
			return
		}
		again, err := ParseRPC(q.Append(nil))
		if err != nil || len(again.Calls) != len(q.Calls) {
			// A name of 128 code units is told from the legacy separator by its @ only.
			for _, c := range q.Calls {
				for _, p := range c.Params {
					if UTF16Len(p.Name) == rpcSeparatorLegacy || UTF16Len(p.Name) >= rpcNoExec {
						return
					}
				}
			}
			t.Fatalf("%+v became %+v, %v", q, again, err)
		}
	})
}

func FuzzTokenStream(f *testing.F) {
	for _, c := range tokenCases {
		f.Add(unhex(f, c.wire), false)
	}
	cols, cells := allColumns(f)
	meta := ColMetaData{Columns: cols}
	f.Add(AppendNBCRow(AppendRow(meta.Append(nil), cols, cells), cols, cells), true)
	f.Fuzz(func(t *testing.T, b []byte, cek bool) {
		whole := NewTokenReader(bytes.NewReader(b), fuzzLimits)
		pieces := NewTokenReader(bytesReader(b), fuzzLimits)
		whole.CEKTable, pieces.CEKTable = cek, cek
		for {
			k1, err1 := whole.Next()
			k2, err2 := pieces.Next()
			if k1 != k2 || (err1 == nil) != (err2 == nil) {
				t.Fatalf("in one piece %v %v, in many %v %v", k1, err1, k2, err2)
			}
			if err1 != nil {
				break
			}
			if !sameCells(whole.Cells, pieces.Cells) || !reflect.DeepEqual(whole.ReturnValue, pieces.ReturnValue) {
				t.Fatalf("%v: %x in one piece, %x in many", k1, whole.Cells, pieces.Cells)
			}
		}
		checkBuffer(t, pieces.r)
	})
}

func FuzzBulkStream(f *testing.F) {
	b, _ := bulkStream(f, 2)
	f.Add(b)
	f.Add(append(b, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		br := NewBulkReader(bytesReader(b), fuzzLimits)
		for {
			if _, err := br.Next(); err != nil {
				break
			}
		}
		checkBuffer(t, br.r)
	})
}

func FuzzCells(f *testing.F) {
	for _, c := range cellCases {
		f.Add(append(unhex(f, c.wire), unhex(f, c.cell)...), false)
		f.Add(append(unhex(f, c.wire), unhex(f, c.cell)...), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, param bool) {
		r := NewReader(append([]byte(nil), b...))
		var info TypeInfo
		info.decode(r, param)
		cell := info.decodeCell(r, param)
		if r.Err() != nil {
			return
		}
		if err := info.Fits(cell); err != nil && cell != nil {
			t.Fatalf("%+v: %x does not fit: %v", info, cell, err)
		}
		wire := info.appendCell(info.append(nil, param), cell, param)
		again := NewReader(wire)
		var info2 TypeInfo
		info2.decode(again, param)
		cell2 := info2.decodeCell(again, param)
		if again.Err() != nil || again.Len() != 0 || !bytes.Equal(cell, cell2) {
			t.Fatalf("%+v: %x became %x, %v", info, cell, cell2, again.Err())
		}
		if info.Type == TypeSSVariant && cell != nil {
			if v, err := DecodeVariant(cell); err == nil {
				if _, err := DecodeVariant(v.Append(nil)); err != nil {
					t.Fatalf("variant %x: %v", cell, err)
				}
			}
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add(append(packet(PacketRPC, 0, "abc"), packet(PacketRPC, StatusEOM, "d")...))
	f.Add(packet(PacketBulkLoad, StatusEOM|StatusIgnore, "abc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewMessageReader(bytesReader(b), 1000)
		for {
			if _, err := r.Next(); err != nil && !errors.Is(err, ErrTooLarge) {
				break
			}
			if got, err := r.ReadAll(nil); len(got) > 1000 || err == nil && len(got) > len(b) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
	})
}

func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x3d\xd8\x00\xdeb\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b)&^1]
		if got := AppendUTF16(nil, DecodeUTF16(b)); !bytes.Equal(got, b) {
			t.Fatalf("%x became %x", b, got)
		}
		if n := UTF16Len(DecodeUTF16(b)); n != len(b)/2 {
			t.Fatalf("%x has %d units", b, n)
		}
		_ = AppendUTF16(nil, string(b))
	})
}

// repeat gives the same bytes for ever.
type repeat struct {
	b   []byte
	pos int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.pos:])
	r.pos = (r.pos + n) % len(r.b)
	return n, nil
}

// TestEndlessItems checks that an item without an end stops at the limit.
func TestEndlessItems(t *testing.T) {
	for name, c := range map[string]struct{ start, again []byte }{
		"features": {[]byte{byte(TokenFeatureExtAck)}, []byte{1, 1, 0, 0, 0, 9}},
		"columns":  {[]byte{byte(TokenColMetaData), 0xFE, 0xFF}, unhex(t, "00000000 0000 38 01 6100")},
		"chunks":   {unhex(t, "81 0100 00000000 0000 a5 ffff 00 d1 feffffffffffffff"), []byte{1, 0, 0, 0, 9}},
	} {
		tr := NewTokenReader(io.MultiReader(bytes.NewReader(c.start), &repeat{b: c.again}), fuzzLimits)
		var err error
		for err == nil {
			_, err = tr.Next()
		}
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		checkBuffer(t, tr.r)
	}
}
