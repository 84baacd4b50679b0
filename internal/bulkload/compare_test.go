package bulkload_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/session"
)

type memoryChecked = memory.CheckedAllocator

// appendExact appends whole numbers, which the builders would read as floats, and
// decimals whose scale is below zero.
func appendExact(b array.Builder, v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	u, errU := strconv.ParseUint(v, 10, 64)
	if err != nil && errU != nil {
		return false
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(n)
	case *array.Uint64Builder:
		b.Append(u)
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
	case *array.Time64Builder:
		b.Append(arrow.Time64(n))
	case *array.Time32Builder:
		b.Append(arrow.Time32(n))
	case *array.Decimal128Builder:
		scale := b.Type().(*arrow.Decimal128Type).Scale
		if scale >= 0 {
			return false
		}
		for range -scale {
			n /= 10
		}
		b.Append(decimal128.FromI64(n))
	default:
		return false
	}
	return true
}

// compare reads the table back: want has a text per row, or the error of one that
// was left out; a NULL row follows.
func compare(t *testing.T, conn *session.Conn, column string, want []string, res bulkload.Result) {
	t.Helper()
	stored := map[string]string{}
	for _, row := range texts(t, conn, "SELECT id, "+shown(column)+" FROM dbo.v") {
		id, v, _ := strings.Cut(row, "|")
		stored[id] = v
	}
	bad := map[int]string{}
	for _, b := range res.Bad {
		bad[b.Row] = b.Error()
	}
	if int(res.Rows) != len(stored) || len(stored)+len(bad) != len(want)+1 {
		t.Errorf("%d rows are stored, the result says %d; %d were left out of %d", len(stored), res.Rows, len(bad), len(want)+1)
	}
	for i, w := range append(want, "NULL") {
		got, ok := stored[strconv.Itoa(i)]
		if text, refused := strings.CutPrefix(w, "!"); refused {
			if ok || !strings.Contains(bad[i], text) || !strings.Contains(bad[i], "column v") {
				t.Errorf("row %d: stored %q (%v), error %q, want an error with %q", i, got, ok, bad[i], text)
			}
			continue
		}
		if !ok || got != w {
			t.Errorf("row %d: %q, want %q (error %q)", i, clipText(got), clipText(w), bad[i])
		}
	}
}

func clipText(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
