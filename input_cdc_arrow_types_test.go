package mssqlcdc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/mssqltest"
)

// inNanoseconds tells whether a value has a place in its exported type, which has one for the years 1678 to 2262 at scale 7.
func (c cdcTypeCase) inNanoseconds() bool {
	return !strings.HasSuffix(c.typ, "(7)") || !strings.HasPrefix(c.typ, "datetime") || strings.HasPrefix(c.value, "'20")
}

// exportedJSON writes a value as format json does, from what the Arrow type alone says of it.
func exportedJSON(t *testing.T, f arrow.Field, a arrow.Array, i int) string {
	t.Helper()
	decl, _ := f.Metadata.GetValue("mssql.type")
	typ, err := sqltype.Parse(decl)
	if err != nil {
		t.Fatal(err)
	}
	clock := func(layout string) string {
		if d := typ.Digits(); d > 0 {
			layout += "." + strings.Repeat("0", d)
		}
		return layout
	}
	if a.IsNull(i) {
		return "null"
	}
	var v any
	switch a := a.(type) {
	case *array.Decimal128:
		v = a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale())
	case *array.Date32:
		v = a.Value(i).ToTime().Format("2006-01-02")
	case *array.Time64:
		v = a.Value(i).ToTime(arrow.Nanosecond).Format(clock("15:04:05"))
	case *array.Timestamp:
		v = a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit).Format(clock("2006-01-02T15:04:05"))
	case *array.Struct:
		instant, offset := a.Field(0).(*array.Timestamp), a.Field(1).(*array.Int16)
		zone := time.FixedZone("", int(offset.Value(i))*60)
		v = instant.Value(i).ToTime(instant.DataType().(*arrow.TimestampType).Unit).In(zone).Format(clock("2006-01-02T15:04:05") + "-07:00")
	case *extensions.UUIDArray:
		v = strings.ToUpper(a.Value(i).String())
	case *array.Binary:
		v = base64.StdEncoding.EncodeToString(a.Value(i))
	case *array.FixedSizeBinary:
		v = base64.StdEncoding.EncodeToString(a.Value(i))
	case *array.Float32:
		v = a.Value(i)
	case *array.Float64:
		v = a.Value(i)
	case *array.String:
		if typ.Name == "sql_variant" {
			v = json.RawMessage(a.Value(i))
		} else {
			v = a.Value(i)
		}
	default:
		return a.ValueStr(i)
	}
	return inJSON(t, v)
}

// Every type, with the values at its edges, comes out of the IPC stream as it went in, in every operation, as the type that
// docs/types.md says.
func TestCDCArrowTypes(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		cdcTypeTable(r)
		var values, set, clear []string
		for i, c := range cdcTypes {
			if !c.inNanoseconds() {
				c.value = "NULL"
			}
			values = append(values, c.value)
			set, clear = append(set, fmt.Sprintf("c%d = %s", i, c.value)), append(clear, fmt.Sprintf("c%d = NULL", i))
		}
		r.sql("BEGIN TRAN; INSERT dbo.ty VALUES (1, " + strings.Join(values, ", ") + "); UPDATE dbo.ty SET " + strings.Join(clear, ", ") +
			"; UPDATE dbo.ty SET " + strings.Join(set, ", ") + "; DELETE dbo.ty; COMMIT")
		for _, before := range []string{"none", "message"} {
			m := r.start(fmt.Sprintf("format: arrow\nbefore_image: %s\ncheckpoint_file: %s", before, r.file+before)).one()
			ipcReader, err := ipc.NewReader(bytes.NewReader([]byte(m.body)))
			if err != nil {
				t.Fatal(err)
			}
			if !ipcReader.Next() {
				t.Fatal(ipcReader.Err())
			}
			rec := ipcReader.RecordBatch()
			operations := rec.Column(len(cdcTypes) + 1).(*array.String)
			nulls := 0
			for row := range int(rec.NumRows()) {
				for i, c := range cdcTypes {
					a := rec.Column(i + 1)
					got := exportedJSON(t, rec.Schema().Field(i+1), a, row)
					legacy := (c.typ == "text" || c.typ == "ntext" || c.typ == "image") && (operations.Value(row) == "delete" || operations.Value(row) == "update_before")
					switch {
					case got == "null" && (!c.inNanoseconds() || legacy):
					case got == "null" && strings.HasPrefix(operations.Value(row), "update"):
						nulls++ // the update that clears the row, and the old row of the one after it
					case got != c.want:
						t.Errorf("%s %s: the %s has %s, want %s", c.typ, c.value, operations.Value(row), got, c.want)
					}
				}
			}
			if nulls < len(cdcTypes)/2 || nulls > 2*len(cdcTypes) {
				t.Errorf("%d values are NULL", nulls)
			}
			for i, c := range cdcTypes {
				typ, err := sqltype.Parse(strings.Split(strings.TrimSuffix(c.typ, " NULL"), " ")[0])
				if err != nil {
					continue // an alias type
				}
				if want, err := typ.Exported(); err != nil || !arrow.TypeEqual(rec.Column(i+1).DataType(), want) {
					t.Errorf("%s is %s, want %s: %v", c.typ, rec.Column(i+1).DataType(), want, err)
				}
			}
			ipcReader.Release()
		}
	})
}

// What the messages of Arrow are made of is given back, also when a value does not fit.
func TestCDCArrowLeavesNothing(t *testing.T) {
	onSnapshot(t, 3, func(t *testing.T, r *cdcRig) {
		r.table("ty", "id int NOT NULL PRIMARY KEY, at datetime2(7) NULL, o datetimeoffset(3) NULL, g uniqueidentifier NULL, b bit NULL, v varbinary(10) NULL")
		r.sql("BEGIN TRAN; INSERT dbo.ty VALUES (1, '2024-01-01', '2024-01-01T01:00:00+01:00', NEWID(), 1, 0x01), (2, NULL, NULL, NULL, NULL, NULL); UPDATE dbo.ty SET at = NULL; UPDATE dbo.ty SET b = 0; COMMIT")
		conf, err := cdcSpec().ParseYAML(strings.Join(strings.Split(r.yaml("format: arrow\nstream_snapshot: true"), "\n")[2:], "\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := (&cdcParser{conf: conf, mgr: service.MockResources()}).parse()
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		in.writer.mem = mem
		ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
		defer cancel()
		if err := in.Connect(ctx); err != nil {
			t.Fatal(err)
		}
		pull := func() *cdcMessage {
			t.Helper()
			batch, ack, err := in.ReadBatch(ctx)
			if err != nil {
				t.Fatal(err)
			}
			m := newCDCMessages(t, batch)[0]
			mem.AssertSize(t, 0)
			if err := ack(ctx, nil); err != nil {
				t.Fatal(err)
			}
			return m
		}
		pull() // the rows of both tables
		pull()
		r.sql("BEGIN TRAN; UPDATE dbo.ty SET v = 0x02; DELETE dbo.ty WHERE id = 2; COMMIT")
		if rows, _ := arrowRows(t, pull()); len(rows) != 3 {
			t.Errorf("%d rows, want 3", len(rows))
		}
		r.sql("INSERT dbo.ty (id, at) VALUES (3, '0001-01-01')")
		pass(cdcQuiet)
		late, stop := context.WithTimeout(context.Background(), cdcQuiet)
		defer stop()
		if _, _, err := in.ReadBatch(late); err == nil {
			t.Error("a value that does not fit was given out")
		}
		mem.AssertSize(t, 0)
		if err := in.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
