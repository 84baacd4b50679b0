package sysrow

import (
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// TestTypeFacts pins max_length, precision and scale as sys.columns of a real server shows them (Microsoft Learn,
// "sys.columns (Transact-SQL)" and the data type pages).
func TestTypeFacts(t *testing.T) {
	for _, tc := range []struct {
		name             string
		typ              value.Type
		user             int32
		maxLength        int16
		precision, scale uint8
	}{
		{"int", value.Type{ID: value.Int}, 56, 4, 10, 0},
		{"bigint", value.Type{ID: value.BigInt}, 127, 8, 19, 0},
		{"bit", value.Type{ID: value.Bit}, 104, 1, 1, 0},
		{"float", value.Type{ID: value.Float}, 62, 8, 53, 0},
		{"real", value.Type{ID: value.Real}, 59, 4, 24, 0},
		{"money", value.Type{ID: value.Money}, 60, 8, 19, 4},
		{"decimal(9,2)", value.Type{ID: value.Decimal, Prec: 9, Scale: 2}, 106, 5, 9, 2},
		{"decimal(10,2)", value.Type{ID: value.Decimal, Prec: 10, Scale: 2}, 106, 9, 10, 2},
		{"numeric(20,0)", value.Type{ID: value.Numeric, Prec: 20}, 108, 13, 20, 0},
		{"decimal(38,38)", value.Type{ID: value.Decimal, Prec: 38, Scale: 38}, 106, 17, 38, 38},
		{"datetime", value.Type{ID: value.DateTime}, 61, 8, 23, 3},
		{"smalldatetime", value.Type{ID: value.SmallDateTime}, 58, 4, 16, 0},
		{"date", value.Type{ID: value.Date}, 40, 3, 10, 0},
		{"time(0)", value.Type{ID: value.Time}, 41, 3, 8, 0},
		{"time(3)", value.Type{ID: value.Time, Scale: 3}, 41, 4, 12, 3},
		{"time(7)", value.Type{ID: value.Time, Scale: 7}, 41, 5, 16, 7},
		{"datetime2(0)", value.Type{ID: value.DateTime2}, 42, 6, 19, 0},
		{"datetime2(7)", value.Type{ID: value.DateTime2, Scale: 7}, 42, 8, 27, 7},
		{"datetimeoffset(3)", value.Type{ID: value.DateTimeOffset, Scale: 3}, 43, 9, 30, 3},
		{"varchar(20)", value.Type{ID: value.VarChar, Len: 20}, 167, 20, 0, 0},
		{"nvarchar(20)", value.Type{ID: value.NVarChar, Len: 20}, 231, 40, 0, 0},
		{"nvarchar(max)", value.Type{ID: value.NVarChar, Len: value.Max}, 231, -1, 0, 0},
		{"varbinary(max)", value.Type{ID: value.VarBinary, Len: value.Max}, 165, -1, 0, 0},
		{"sysname", value.Type{ID: value.NVarChar, Len: 128, Name: "sysname"}, 256, 256, 0, 0},
		{"text", value.Type{ID: value.Text, Len: value.Max}, 35, 16, 0, 0},
		{"rowversion", value.Type{ID: value.RowVersion}, 189, 8, 0, 0},
		{"xml", value.Type{ID: value.XML, Len: value.Max}, 241, -1, 0, 0},
		{"geography", value.Type{ID: value.CLR, Name: "geography"}, 130, -1, 0, 0},
		{"hierarchyid", value.Type{ID: value.CLR, Name: "hierarchyid"}, 128, 892, 0, 0},
		{"sql_variant", value.Type{ID: value.Variant}, 98, 8016, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := TypeRow(tc.typ).User; got != tc.user {
				t.Errorf("user_type_id = %d, want %d", got, tc.user)
			}
			if got := MaxLength(tc.typ); got != tc.maxLength {
				t.Errorf("max_length = %d, want %d", got, tc.maxLength)
			}
			if got := Precision(tc.typ); got != tc.precision {
				t.Errorf("precision = %d, want %d", got, tc.precision)
			}
			if got := Scale(tc.typ); got != tc.scale {
				t.Errorf("scale = %d, want %d", got, tc.scale)
			}
		})
	}
}
