package capture

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/snapshot"
)

// windowBytes bounds the chunk that waits for its second watermark; the page that reaches it is the last one. There is one window
// at a time, and this memory comes on top of the budget: in it, the chunk could keep out the changes that it waits for.
const windowBytes = 16 << 20

// Ends of the ids of watermarks, as Debezium has them.
const (
	openSuffix  = "-open"
	closeSuffix = "-close"
)

// chunkWindow is a chunk between two watermarks. The watermarks are rows of the signal table, committed before and after the chunk is
// read. When the stream has come to the second one, rows whose key it has changed meanwhile are dropped: what the stream gave is
// newer. The others are still what the table has, and are given out there.
//
// Keys are compared byte by byte, in whatever collation. That is enough: a row that was read and changes afterwards has its old
// key in a before image or a delete, and one that was read after it changed has its new key in the stream, each in the very form
// that was read.
type chunkWindow struct {
	id string

	// Under flow.mu.
	high   catalog.Transaction // of the second watermark, zero until it is read
	closed time.Time           // when it was written
	void   bool                // it may never be read

	// The worker's alone.
	pages []*snapshot.Page
	rows  map[string]place // by key
	stale [][]bool         // by page and row
	last  snapshot.Key
	ends  bool // nothing is behind the chunk
	key   []byte
}

// place is where a row is.
type place struct{ page, row int32 }

func newWindow() *chunkWindow { return &chunkWindow{id: newSnapshotID() + newSnapshotID()} }

// fill reads the chunk after a key.
func (w *chunkWindow) fill(ctx context.Context, r *snapshot.Reader, after snapshot.Key, reached checkpoint.LSN, cfg Config) error {
	upto, last, err := r.Bound(ctx, after, cfg.Snapshots.ChunkRows, reached)
	if err != nil {
		return err
	}
	w.last = after
	if upto.IsZero() {
		w.ends = true
		return nil
	}
	for bytes := 0; bytes < windowBytes; {
		page, err := r.Read(ctx, w.last, upto, reached, snapshot.Limits{Rows: cfg.MaxRows, Bytes: cfg.MaxBytes})
		if err != nil {
			return err
		}
		w.pages = append(w.pages, page)
		w.last = page.Next
		bytes += page.Bytes
		if page.Done {
			w.last, w.ends = upto, last
			return nil
		}
	}
	return nil
}

// index makes the rows known by their key.
func (w *chunkWindow) index(l *Layout) {
	w.rows = map[string]place{}
	w.stale = make([][]bool, len(w.pages))
	for i, p := range w.pages {
		w.stale[i] = make([]bool, p.Rows)
		for row := range p.Rows {
			w.key = appendKey(w.key[:0], p.Record, l.Key, row)
			w.rows[string(w.key)] = place{int32(i), int32(row)}
		}
	}
}

// drop drops the rows with the keys of changes.
func (w *chunkWindow) drop(changes arrow.RecordBatch, key []int, rows int) {
	for row := range rows {
		w.key = appendKey(w.key[:0], changes, key, row)
		if at, ok := w.rows[string(w.key)]; ok {
			w.stale[at.page][at.row] = true
		}
	}
}

// appendKey appends what tells a row from the others, each column with its length.
func appendKey(dst []byte, rec arrow.RecordBatch, key []int, row int) []byte {
	for _, column := range key {
		text := rec.Column(column).ValueStr(row)
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

// stretchOfRows are rows from one to before another.
type stretchOfRows struct{ from, to int }

// left are the rows of a page that were not dropped.
func (w *chunkWindow) left(page int) (out []stretchOfRows, rows int) {
	for row, stale := range w.stale[page] {
		if stale {
			continue
		}
		rows++
		if n := len(out); n > 0 && out[n-1].to == row {
			out[n-1].to++
			continue
		}
		out = append(out, stretchOfRows{row, row + 1})
	}
	return out, rows
}

// release gives the pages back.
func (w *chunkWindow) release() {
	for _, p := range w.pages {
		p.Release()
	}
	w.pages, w.rows, w.stale = nil, nil, nil
}
