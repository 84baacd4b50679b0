package tds

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// allColumns has a column for each cell case.
func allColumns(t testing.TB) (cols []ColumnMeta, cells [][]byte) {
	for _, c := range cellCases {
		col := ColumnMeta{Flags: ColumnNullable, Info: c.info, Name: c.name}
		if c.info.HasTextPointer() {
			col.Table = []string{"dbo", "t"}
		}
		cols = append(cols, col)
		if c.value == "NULL" {
			cells = append(cells, nil)
		} else {
			cells = append(cells, append([]byte{}, unhex(t, c.value)...))
		}
	}
	return cols, cells
}

func sameCells(a, b [][]byte) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) || !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

func TestRowGolden(t *testing.T) {
	cols := []ColumnMeta{
		{Info: Fixed(TypeInt4), Name: "a"}, {Info: Nullable(TypeIntN, 2), Name: "b"},
		{Info: CharType(TypeNVarChar, 20, DefaultCollation), Name: "c"}, {Info: Nullable(TypeBitN, 1), Name: "d"},
	}
	cells := [][]byte{{1, 0, 0, 0}, nil, []byte("h\x00"), {1}}
	checkHex(t, "row", AppendRow(nil, cols, cells), "d1 01000000 00 0200 6800 01 01")
	checkHex(t, "nbcrow", AppendNBCRow(nil, cols, cells), "d2 02 01000000 0200 6800 01 01")
}

// TestRowsOfAllTypes reads many rows of every type, in pieces, in both row forms.
func TestRowsOfAllTypes(t *testing.T) {
	cols, cells := allColumns(t)
	meta := ColMetaData{Columns: cols}
	b := meta.Append(nil)
	for range 40 {
		b = AppendRow(b, cols, cells)
		b = AppendNBCRow(b, cols, cells)
	}
	done := Done{Status: DoneCount, RowCount: 80}
	b = done.Append(b)
	for name, src := range map[string]io.Reader{"pieces": bytesReader(b), "whole": bytes.NewReader(b)} {
		tr := NewTokenReader(src, Limits{})
		rows := 0
		for {
			kind, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if kind == TokenRow || kind == TokenNBCRow {
				rows++
				if !sameCells(tr.Cells, cells) {
					t.Fatalf("%s: row %d: got %x, want %x", name, rows, tr.Cells, cells)
				}
			}
		}
		if rows != 80 || tr.Done.RowCount != 80 || tr.BytesRead() != int64(len(b)) {
			t.Errorf("%s: %d rows, %+v, %d of %d bytes", name, rows, tr.Done, tr.BytesRead(), len(b))
		}
	}
}

func TestRowEveryPrefix(t *testing.T) {
	cols, cells := allColumns(t)
	meta := (&ColMetaData{Columns: cols}).Append(nil)
	for _, row := range [][]byte{AppendRow(nil, cols, cells), AppendNBCRow(nil, cols, cells)} {
		everyPrefix(t, row, func(b []byte) error {
			tr := NewTokenReader(bytes.NewReader(append(append([]byte(nil), meta...), b...)), Limits{})
			if _, err := tr.Next(); err != nil {
				t.Fatal(err)
			}
			_, err := tr.Next()
			return err
		})
	}
	everyPrefix(t, meta, func(b []byte) error {
		_, err := NewTokenReader(bytes.NewReader(b), Limits{}).Next()
		return err
	})
}

func TestRowErrorNamesColumn(t *testing.T) {
	cols := []ColumnMeta{{Info: Fixed(TypeInt4)}, {Info: Nullable(TypeIntN, 4)}}
	b := append((&ColMetaData{Columns: cols}).Append(nil), unhex(t, "d1 01000000 03 010203")...)
	tr := NewTokenReader(bytes.NewReader(b), Limits{})
	_, _ = tr.Next()
	_, err := tr.Next()
	var ce *CellError
	if !errors.As(err, &ce) || ce.Column != 1 || ce.Length != 3 {
		t.Errorf("got %v", err)
	}
}

func TestRowLimit(t *testing.T) {
	cols := []ColumnMeta{{Info: Nullable(TypeBigVarBinary, MaxSize)}, {Info: Nullable(TypeBigVarBinary, MaxSize)}}
	big := make([]byte, 600)
	b := AppendRow((&ColMetaData{Columns: cols}).Append(nil), cols, [][]byte{big, big})
	for limit, legal := range map[int]bool{1000: false, 2000: true} {
		tr := NewTokenReader(bytesReader(b), Limits{Row: limit})
		_, _ = tr.Next()
		_, err := tr.Next()
		if legal != (err == nil) || !legal && !errors.Is(err, ErrTooLarge) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// TestLargeRow needs the buffer to grow while earlier cells are already found.
func TestLargeRow(t *testing.T) {
	cols := []ColumnMeta{{Info: Nullable(TypeIntN, 4)}, {Info: Nullable(TypeBigVarBinary, MaxSize)}, {Info: Nullable(TypeIntN, 4)}}
	big := make([]byte, 300_000)
	for i := range big {
		big[i] = byte(i * 31)
	}
	b := (&ColMetaData{Columns: cols}).Append(nil)
	b = append(append(b, 0xD1, 4), 1, 2, 3, 4)
	b = AppendPLPStart(b)
	for rest := big; len(rest) > 0; {
		n := min(len(rest), 70_001)
		b = AppendPLPChunk(b, rest[:n])
		rest = rest[n:]
	}
	b = append(AppendPLPEnd(b), 4, 5, 6, 7, 8)
	tr := NewTokenReader(bytes.NewReader(b), Limits{})
	_, _ = tr.Next()
	if _, err := tr.Next(); err != nil {
		t.Fatal(err)
	}
	if !sameCells(tr.Cells, [][]byte{{1, 2, 3, 4}, big, {5, 6, 7, 8}}) {
		t.Error("the cells differ")
	}
}

func TestColumnsMayBeLeftOut(t *testing.T) {
	cols := []ColumnMeta{{Info: Fixed(TypeInt1)}}
	b := AppendRow((&ColMetaData{Columns: cols}).Append(nil), cols, [][]byte{{1}})
	b = AppendRow((&ColMetaData{NoMetaData: true}).Append(b), cols, [][]byte{{2}})
	tr := NewTokenReader(bytes.NewReader(b), Limits{})
	for range 4 {
		if _, err := tr.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if !sameCells(tr.Cells, [][]byte{{2}}) {
		t.Errorf("got %x", tr.Cells)
	}
}

func bulkStream(t testing.TB, rows int) ([]byte, [][]byte) {
	cols, cells := allColumns(t)
	b := (&ColMetaData{Columns: cols}).AppendBulk(nil)
	for range rows {
		b = AppendRow(b, cols, cells)
	}
	return b, cells
}

func TestBulkReader(t *testing.T) {
	for _, rows := range []int{0, 1, 50} {
		body, cells := bulkStream(t, rows)
		for _, done := range []int{-1, 0, 8, 12} {
			b := append([]byte(nil), body...)
			if done >= 0 {
				b = append(append(b, byte(TokenDone)), make([]byte, done)...)
			}
			br := NewBulkReader(bytesReader(b), Limits{})
			meta, err := br.Columns()
			if err != nil || len(meta.Columns) != len(cells) {
				t.Fatalf("columns: %v", err)
			}
			n := 0
			for {
				got, err := br.Next()
				if err == io.EOF {
					break
				}
				if err != nil || !sameCells(got, cells) {
					t.Fatalf("row %d: %x, %v", n, got, err)
				}
				n++
			}
			if n != rows {
				t.Errorf("DONE of %d: %d rows, want %d", done, n, rows)
			}
			if _, err := br.Next(); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
		}
	}
}

func TestBulkTableNameGolden(t *testing.T) {
	m := ColMetaData{Columns: []ColumnMeta{{Info: Nullable(TypeImage, 0x7FFFFFFF), Table: []string{"dbo", "t"}, Name: "a"}}}
	checkHex(t, "bulk columns", m.AppendBulk(nil), "81 0100 00000000 0000 22 ffffff7f 0500 640062006f002e007400 01 6100")
}

func TestBulkReaderErrors(t *testing.T) {
	body, _ := bulkStream(t, 1)
	for name, b := range map[string][]byte{
		"DONE of 4 bytes":  append(append([]byte(nil), body...), 0xFD, 0, 0, 0, 0),
		"DONE of 13 bytes": append(append(append([]byte(nil), body...), 0xFD), make([]byte, 13)...),
		"NBCROW":           append(append([]byte(nil), body...), 0xD2),
		"no columns":       {0xD1},
		"columns left out": {0x81, 0xFF, 0xFF},
		"short row":        body[:len(body)-1],
	} {
		br := NewBulkReader(bytes.NewReader(b), Limits{})
		var err error
		for err == nil {
			_, err = br.Next()
		}
		if err == io.EOF {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := NewBulkReader(bytes.NewReader(nil), Limits{}).Columns(); err != io.EOF {
		t.Errorf("empty message: %v", err)
	}
	// A load that its client withdraws must not look like one that ended.
	stream := append(packet(PacketBulkLoad, 0, string(body)), packet(PacketBulkLoad, StatusEOM|StatusIgnore, "")...)
	mr := NewMessageReader(bytes.NewReader(stream), 0)
	_, _ = mr.Next()
	br := NewBulkReader(mr, Limits{})
	if _, err := br.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := br.Next(); !errors.Is(err, ErrIgnored) {
		t.Errorf("withdrawn: %v", err)
	}
}
