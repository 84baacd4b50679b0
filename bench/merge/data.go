package main

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
)

const createTable = "CREATE TABLE dbo.t (id bigint NOT NULL PRIMARY KEY, amount bigint NOT NULL, name nvarchar(40) NOT NULL, ratio float NOT NULL, state nvarchar(20) NOT NULL)"

var columns = []string{"id", "amount", "name", "ratio", "state"}

// states are values of a column.
var states = []string{"placed", "paid", "packed", "sent", "returned"}

func name(id int) string { return fmt.Sprintf("customer number %d", id) }

func ratio(id int) float64 { return float64(id) / 8 }

// jsonBatch makes messages of rows.
func jsonBatch(from, to int) service.MessageBatch {
	batch := make(service.MessageBatch, 0, to-from)
	for id := from; id < to; id++ {
		batch = append(batch, service.NewMessage(fmt.Appendf(nil, `{"id":%d,"amount":%d,"name":%q,"ratio":%v,"state":%q}`, id, id, name(id), ratio(id), states[id%len(states)])))
	}
	return batch
}

// arrowBatch makes one message of rows.
func arrowBatch(from, to int) (service.MessageBatch, error) {
	mem := memory.NewGoAllocator()
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "amount", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.String},
		{Name: "ratio", Type: arrow.PrimitiveTypes.Float64}, {Name: "state", Type: arrow.BinaryTypes.String},
	}, nil))
	defer b.Release()
	for id := from; id < to; id++ {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Int64Builder).Append(int64(id))
		b.Field(2).(*array.StringBuilder).Append(name(id))
		b.Field(3).(*array.Float64Builder).Append(ratio(id))
		b.Field(4).(*array.StringBuilder).Append(states[id%len(states)])
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	text, err := body.AppendArrow(nil, rec, mem)
	return service.MessageBatch{service.NewMessage(text)}, err
}
