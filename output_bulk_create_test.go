package mssqlcdc

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/redpanda-data/benthos/v4/public/schema"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/mssqltest"
)

func TestBulkCreateTable(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		without := r.start("")
		with := r.start("create_table: true\nraw_tds: require") // the driver cannot send sql_variant
		decimal, err := schema.NewDecimal("price", 10, 2, true)
		if err != nil {
			t.Fatal(err)
		}
		described := schema.Common{Name: "t", Type: schema.Object, Children: []schema.Common{
			{Name: "id", Type: schema.Int64}, {Name: "b", Type: schema.Boolean}, {Name: "n", Type: schema.Int32}, {Name: "f", Type: schema.Float64}, {Name: "r", Type: schema.Float32},
			{Name: "s", Type: schema.String}, {Name: "x", Type: schema.ByteArray}, decimal, {Name: "d", Type: schema.Date}, {Name: "u", Type: schema.UUID},
			{Name: "at", Type: schema.Timestamp, Logical: &schema.LogicalParams{Timestamp: &schema.TimestampParams{Unit: schema.TimeUnitNanos}}},
			{Name: "o", Type: schema.Timestamp, Logical: &schema.LogicalParams{Timestamp: &schema.TimestampParams{Unit: schema.TimeUnitNanos, AdjustToUTC: true}}},
			{Name: "tm", Type: schema.TimeOfDay, Logical: &schema.LogicalParams{TimeOfDay: &schema.TimeOfDayParams{Unit: schema.TimeUnitNanos}}},
			{Name: "v", Type: schema.Any},
		}}
		to := func(table string, m *service.Message) *service.Message {
			m.MetaSet("database_schema", "dbo")
			m.MetaSet("table", table)
			return m
		}
		one := to("t", service.NewMessage([]byte(`{"id":1,"price":"1.50","at":"2024-01-01T00:00:00.1234567","o":"2024-01-01T00:00:00+02:00","v":{"type":"int","value":1}}`)))
		one.MetaSetMut("schema", described.ToAny())
		two := to("u", service.NewMessage([]byte(`{"id":1}`)))
		typ := sqltype.Type{Name: "nvarchar", Length: 20, Nullable: true}
		variant := sqltype.Type{Name: "sql_variant", Nullable: true}
		three := to("w", arrowMessage(t, []arrow.Field{
			typ.Field("s"), {Name: "i", Type: arrow.PrimitiveTypes.Uint64}, {Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true}, {Name: "d", Type: &arrow.Decimal128Type{Precision: 5, Scale: -2}, Nullable: true},
			variant.Field("v"),
		}, `[{"s":"é","i":4294967297,"ts":null,"d":null,"v":"{\"type\":\"nvarchar\",\"value\":\"é\"}"}]`))
		batch := service.MessageBatch{one, two, three}
		without.refuses(batch, map[int][]string{0: {"does not exist"}, 1: {"does not exist"}, 2: {"does not exist"}})
		with.refuses(batch, map[int][]string{1: {"dbo.u", "create_table knows no columns"}})
		r.want("SELECT id, price, at, v FROM dbo.t", `1|1.50|2024-01-01 00:00:00.1234567|{"type":"int","value":1}`)
		r.want("SELECT s, i, v, SQL_VARIANT_PROPERTY(v, 'BaseType') FROM dbo.w", "é|4294967297|é|nvarchar")
		r.want("SELECT ty.name, c.precision, c.scale FROM sys.columns AS c JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID(N'dbo.t') ORDER BY c.column_id",
			"bigint|19|0", "bit|1|0", "int|10|0", "float|53|0", "real|24|0", "nvarchar|0|0", "varbinary|0|0", "decimal|10|2", "date|10|0", "uniqueidentifier|0|0",
			"datetime2|27|7", "datetimeoffset|34|7", "time|16|7", "nvarchar|0|0")
		r.want("SELECT ty.name, c.max_length, c.precision, c.scale FROM sys.columns AS c JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID(N'dbo.w') ORDER BY c.column_id",
			"nvarchar|20|0|0", "decimal|13|20|0", "datetimeoffset|10|34|7", "decimal|5|7|0", "sql_variant|8016|0|0")

		static := r.start("create_table: true\ntable: dbo.fixed")
		first := service.NewMessage([]byte(`{"id":7}`))
		first.MetaSetMut("schema", described.ToAny())
		static.refuses(service.MessageBatch{first}, nil)
		r.want("SELECT id FROM dbo.fixed", "7")
	})
}
