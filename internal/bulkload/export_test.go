package bulkload

import "github.com/apache/arrow-go/v18/arrow"

// Encode encodes all rows of a batch, forgets them, and counts their bytes.
func (p *Plan) Encode(rec arrow.RecordBatch) (bytes int, err error) {
	if err := p.bind(rec); err != nil {
		return 0, err
	}
	e := newEncoder(p.cols, p.buf, int(rec.NumRows()))
	for e.next < e.rows {
		e.fill()
		bytes += len(e.buf)
	}
	p.keep(e.buf)
	return bytes, nil
}
