package tds

import "errors"

// AppendRow writes a ROW (2.2.7.20 ROW). There must be a cell for each column; nil is NULL.
func AppendRow(dst []byte, cols []ColumnMeta, cells [][]byte) []byte {
	dst = append(dst, byte(TokenRow))
	for i := range cols {
		dst = cols[i].Info.AppendCell(dst, cells[i])
	}
	return dst
}

// AppendNBCRow writes a NBCROW (2.2.7.15 NBCROW), in which NULL cells are bits of a map.
func AppendNBCRow(dst []byte, cols []ColumnMeta, cells [][]byte) []byte {
	dst = append(dst, byte(TokenNBCRow))
	at := len(dst)
	for range (len(cols) + 7) / 8 {
		dst = append(dst, 0)
	}
	for i := range cols {
		if cells[i] == nil {
			dst[at+i/8] |= 1 << (i % 8)
			continue
		}
		dst = cols[i].Info.AppendCell(dst, cells[i])
	}
	return dst
}

// RowReader reads the rows of one result set without allocating per row.
type RowReader struct {
	plans []cellPlan
	spans []span
	cells [][]byte
}

// SetColumns prepares for rows of these columns.
func (d *RowReader) SetColumns(cols []ColumnMeta) {
	d.plans = d.plans[:0]
	for i := range cols {
		d.plans = append(d.plans, cols[i].Info.plan(false))
	}
	if cap(d.spans) < len(cols) {
		d.spans = make([]span, len(cols))
		d.cells = make([][]byte, len(cols))
	}
	d.spans, d.cells = d.spans[:len(cols)], d.cells[:len(cols)]
}

// Row reads what follows a ROW token byte. The cells, nil for NULL, alias the Reader's buffer, and the slice of cells is
// used again for the next row.
func (d *RowReader) Row(r *Reader) [][]byte {
	r.mark()
	for i := range d.plans {
		s, ok := d.plans[i].cell(r)
		if !ok {
			return d.broken(r, i)
		}
		d.spans[i] = s
	}
	return d.resolve(r)
}

// NBCRow reads what follows a NBCROW token byte, as Row does.
func (d *RowReader) NBCRow(r *Reader) [][]byte {
	r.mark()
	n := (len(d.plans) + 7) / 8
	r.Bytes(n)
	for i := range d.plans {
		if r.err == nil && r.buf[r.keep+i/8]>>(i%8)&1 == 1 {
			d.spans[i] = nullSpan
			continue
		}
		s, ok := d.plans[i].cell(r)
		if !ok {
			return d.broken(r, i)
		}
		d.spans[i] = s
	}
	return d.resolve(r)
}

// resolve turns positions into slices, now that the buffer does not move any more.
func (d *RowReader) resolve(r *Reader) [][]byte {
	row := r.buf[r.keep:r.pos]
	for i, s := range d.spans {
		if s.start < 0 {
			d.cells[i] = nil
		} else {
			d.cells[i] = row[s.start:s.end:s.end]
		}
	}
	r.release()
	return d.cells
}

// broken adds the column to a CellError.
func (d *RowReader) broken(r *Reader, column int) [][]byte {
	r.release()
	var ce *CellError
	if errors.As(r.err, &ce) && ce.Column < 0 {
		ce.Column = column
	}
	return nil
}
