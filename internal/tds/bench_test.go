package tds

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// benchReply is a reply of many rows, in packets.
func benchReply(b *testing.B, cols []ColumnMeta, cells [][]byte, rows int) []byte {
	body := (&ColMetaData{Columns: cols}).Append(nil)
	for range rows {
		body = AppendRow(body, cols, cells)
	}
	body = (&Done{Status: DoneCount, RowCount: uint64(rows)}).Append(body)
	var out bytes.Buffer
	if err := NewMessageWriter(&out, DefaultPacketSize).WriteMessage(PacketReply, 0, body); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkRows(b *testing.B) {
	narrow := []ColumnMeta{
		{Info: Nullable(TypeBigBinary, 10)}, {Info: Nullable(TypeIntN, 4)}, {Info: Nullable(TypeIntN, 8)}, {Info: Fixed(TypeInt4)},
		{Info: Nullable(TypeFltN, 8)}, {Info: DecimalType(TypeDecimalN, 18, 4)}, {Info: TemporalType(TypeDateTime2N, 7)},
		{Info: TemporalType(TypeDateN, 0)}, {Info: Nullable(TypeBitN, 1)}, {Info: Nullable(TypeGUID, 16)},
	}
	narrowCells := [][]byte{make([]byte, 10), make([]byte, 4), nil, make([]byte, 4), make([]byte, 8), make([]byte, 9),
		make([]byte, 8), make([]byte, 3), make([]byte, 1), make([]byte, 16)}
	text := CharType(TypeNVarChar, 2400, DefaultCollation)
	wide := append(append([]ColumnMeta{}, narrow...), ColumnMeta{Info: text}, ColumnMeta{Info: nvarcharMax})
	s := AppendUTF16(nil, strings.Repeat("abcdefghij", 60))
	wideCells := append(append([][]byte{}, narrowCells...), s, s[:100])
	for _, c := range []struct {
		name  string
		cols  []ColumnMeta
		cells [][]byte
	}{{"narrow", narrow, narrowCells}, {"wide", wide, wideCells}} {
		b.Run(c.name, func(b *testing.B) {
			const rows = 10_000
			reply := benchReply(b, c.cols, c.cells, rows)
			src := bytes.NewReader(reply)
			mr := NewMessageReader(src, 0)
			tr := NewTokenReader(mr, Limits{})
			b.SetBytes(int64(len(reply) / rows))
			b.ReportAllocs()
			n := 0
			for n < b.N {
				src.Reset(reply)
				if _, err := mr.Next(); err != nil {
					b.Fatal(err)
				}
				tr.Reset(mr)
				for {
					kind, err := tr.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					if kind == TokenRow {
						n++
					}
				}
			}
		})
	}
}

func BenchmarkUTF16(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"ascii", strings.Repeat("abcdefghij", 30)}, {"mixed", strings.Repeat("abcdefgéij", 30)}, {"cjk", strings.Repeat("日本語", 100)},
	} {
		wire := AppendUTF16(nil, c.text)
		b.Run("decode/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			var dst []byte
			for b.Loop() {
				dst = AppendUTF8(dst[:0], wire)
			}
		})
		b.Run("encode/"+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			var dst []byte
			for b.Loop() {
				dst = AppendUTF16(dst[:0], c.text)
			}
		})
	}
}
