package body

import (
	"fmt"
	"testing"
)

// A row of ten columns from JSON to a record batch.
func BenchmarkDecodeJSON(b *testing.B) {
	var columns []DecodeColumn
	for i, decl := range []string{"bigint", "int", "decimal(12,2)", "nvarchar(80)", "varchar(20)", "datetime2(7)", "float", "bit", "uniqueidentifier", "date"} {
		columns = append(columns, DecodeColumn{Name: fmt.Sprintf("column_%d", i), Type: col(b, "", decl).Type})
	}
	d, err := NewDecoder(columns, DecodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	row := []byte(`{"column_0":9007199254740993,"column_1":42,"column_2":"1234567.89","column_3":"a name of some length, with é","column_4":"placed","column_5":"2024-02-29T12:34:56.1234567","column_6":0.1,"column_7":true,"column_8":"01234567-89AB-CDEF-0123-456789ABCDEF","column_9":"2024-02-29"}`)
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.AppendJSON(row); err != nil {
			b.Fatal(err)
		}
		if d.Len() == 1000 {
			for _, p := range d.Finish() {
				p.Record.Release()
			}
		}
	}
	d.Discard()
}
