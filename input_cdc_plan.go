package mssqlcdc

import (
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/schema"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/sqltype"
)

// maxPlans bounds the plans that are kept; a table makes a new one when its capture instance changes.
const maxPlans = 4096

// messagePlan is what the messages of one layout have in common.
type messagePlan struct {
	json     *body.JSON
	debezium *body.Debezium // nil but for that format
	arrow    *arrowPlan     // nil but for that format
	schema   service.ImmutableAny
	names    []string // of the captured columns
}

// list gives the names of the captured columns that has chooses.
func (p *messagePlan) list(has func(int) bool) []any {
	out := []any{}
	for i, name := range p.names {
		if has(i) {
			out = append(out, name)
		}
	}
	return out
}

// plan finds or makes the plan of a layout.
func (w *messageWriter) plan(r capture.Run) (*messagePlan, error) {
	if p := w.plans[r.Layout]; p != nil {
		return p, nil
	}
	columns := make([]int, r.Layout.Captured)
	p := &messagePlan{}
	root := schema.Common{Name: r.Table.Name.Object, Type: schema.Object}
	for i := range columns {
		columns[i] = i
		f := r.Layout.Schema.Field(i)
		t, err := sqltype.FromField(f)
		if err != nil {
			return nil, err
		}
		p.names = append(p.names, f.Name)
		root.Children = append(root.Children, commonSchema(f.Name, t.Common()))
	}
	if err := root.Validate(); err != nil {
		return nil, fmt.Errorf("describing the columns of %s: %w", r.Table.Name, err)
	}
	p.schema = service.ImmutableAny{V: root.ToAny()}
	var err error
	if p.json, err = body.NewJSON(r.Table.Name.String(), r.Layout.Schema, columns, r.Layout.Key); err != nil {
		return nil, err
	}
	switch w.format {
	case formatArrow:
		if err := w.planArrow(p, r, columns); err != nil {
			return nil, err
		}
	case formatDebezium:
		p.debezium = body.NewDebezium(body.DebeziumSource{Version: version, Name: w.name, Database: w.database, Schema: r.Table.Name.Schema, Table: r.Table.Name.Object})
	}
	if len(w.plans) >= maxPlans {
		clear(w.plans)
	}
	w.plans[r.Layout] = p
	return p, nil
}

// commonTypes maps the type table's names to Benthos'.
var commonTypes = map[sqltype.CommonType]schema.CommonType{
	sqltype.CommonBoolean: schema.Boolean, sqltype.CommonInt32: schema.Int32, sqltype.CommonInt64: schema.Int64,
	sqltype.CommonFloat32: schema.Float32, sqltype.CommonFloat64: schema.Float64, sqltype.CommonString: schema.String,
	sqltype.CommonByteArray: schema.ByteArray, sqltype.CommonAny: schema.Any, sqltype.CommonDecimal: schema.Decimal,
	sqltype.CommonDate: schema.Date, sqltype.CommonTimeOfDay: schema.TimeOfDay, sqltype.CommonTimestamp: schema.Timestamp,
	sqltype.CommonUUID: schema.UUID,
}

var commonUnits = map[sqltype.Unit]schema.TimeUnit{
	sqltype.Seconds: schema.TimeUnitSeconds, sqltype.Millis: schema.TimeUnitMillis, sqltype.Micros: schema.TimeUnitMicros,
	sqltype.Nanos: schema.TimeUnitNanos,
}

// commonSchema describes a column. A captured column can be null whatever the table says: the server clears some of them.
func commonSchema(name string, c sqltype.Common) schema.Common {
	out := schema.Common{Name: name, Type: commonTypes[c.Type], Optional: true}
	switch c.Type {
	case sqltype.CommonDecimal:
		out.Logical = &schema.LogicalParams{Decimal: &schema.DecimalParams{Precision: int32(c.Precision), Scale: int32(c.Scale)}}
	case sqltype.CommonTimestamp:
		out.Logical = &schema.LogicalParams{Timestamp: &schema.TimestampParams{Unit: commonUnits[c.Unit], AdjustToUTC: c.UTC}}
	case sqltype.CommonTimeOfDay:
		out.Logical = &schema.LogicalParams{TimeOfDay: &schema.TimeOfDayParams{Unit: commonUnits[c.Unit]}}
	}
	return out
}
