package body

import (
	"bytes"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func decimalOf(n int64) decimal128.Num { return decimal128.FromI64(n) }

// arrowBody writes two record batches of one row each.
func arrowBody(t *testing.T, file bool) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	var b bytes.Buffer
	var w interface {
		io.Closer
		Write(arrow.RecordBatch) error
	} = ipc.NewWriter(&b, ipc.WithSchema(schema))
	if file {
		f, err := ipc.NewFileWriter(&b, ipc.WithSchema(schema))
		if err != nil {
			t.Fatal(err)
		}
		w = f
	}
	for i := range 2 {
		r := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		r.Field(0).(*array.Int32Builder).Append(int32(i))
		r.Field(1).(*array.StringBuilder).Append("é")
		rec := r.NewRecordBatch()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		r.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadArrow(t *testing.T) {
	for _, file := range []bool{false, true} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		b := arrowBody(t, file)
		if !IsArrow(b) {
			t.Fatalf("not recognised: % x", b[:8])
		}
		records, err := ReadArrow(b, mem)
		if err != nil || len(records) != 2 {
			t.Fatalf("%d records: %v", len(records), err)
		}
		if got := records[1].Column(0).(*array.Int32).Value(0); got != 1 {
			t.Errorf("the second id is %d", got)
		}
		for _, r := range records {
			r.Release()
		}
		mem.AssertSize(t, 0)
	}
	if IsArrow([]byte(`{"a":1}`)) || IsArrow(nil) {
		t.Error("JSON is taken for Arrow")
	}
}

// Every prefix is an error or shorter, and none panics or takes memory that it does not have.
func TestReadArrowCut(t *testing.T) {
	for _, file := range []bool{false, true} {
		b := arrowBody(t, file)
		for n := range b {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			records, err := ReadArrow(b[:n:n], mem)
			if err != nil && len(records) > 0 {
				t.Errorf("%d bytes: records with an error", n)
			}
			for _, r := range records {
				r.Release()
			}
		}
	}
	huge := append([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}, make([]byte, 64)...)
	if _, err := ReadArrow(huge, nil); err == nil {
		t.Error("a length of 2 GB was believed")
	}
}
