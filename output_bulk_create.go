package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/redpanda-data/benthos/v4/public/schema"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
)

var errNoColumns = errors.New("the table does not exist, and create_table knows no columns: it takes them from the metadata schema, which mssql_cdc sets, or from a body in Arrow's format")

// isMissing reports whether describing a table failed because there is none.
func isMissing(err error) bool {
	_, answered := session.Number(err)
	return err != nil && !answered && !session.IsNetwork(err) && !errors.Is(err, context.Canceled)
}

// create makes the table of a job from its first message.
func (l *bulkLanding) create(ctx context.Context, w *bulkWorker, j *bulkJob) error {
	columns, err := l.columnsOf(j.rows[0])
	if err != nil {
		return err
	}
	key, err := l.keyOf(j.rows[0])
	if err != nil {
		return err
	}
	list, err := createList(columns, key)
	if err != nil {
		return err
	}
	err = w.conn.Batch(ctx, fmt.Sprintf(sqlBulkCreate, j.name.Quoted(), strings.Join(list, ", ")))
	if err != nil && !session.HasNumber(err, errBulkExists) { // another connection may have been faster
		return err
	}
	l.out.log.Infof("table %s did not exist and was created", j.name)
	return nil
}

// columnsOf gives names and declarations of the columns that a message speaks of.
func (l *bulkLanding) columnsOf(i int) ([][2]string, error) {
	var out [][2]string
	records, err := l.arrowOf(i)
	if err != nil {
		return nil, err
	}
	if len(records) > 0 {
		for _, f := range records[0].Schema().Fields() {
			if !isChangeColumn(f) {
				out = append(out, [2]string{f.Name, declarationOfArrow(f)})
			}
		}
	} else if any, ok := l.batch[i].MetaGetMut("schema"); ok {
		common, err := schema.ParseFromAny(any)
		if err != nil {
			return nil, fmt.Errorf("reading the metadata schema: %w", err)
		}
		for _, c := range common.Children {
			out = append(out, [2]string{c.Name, declarationOfCommon(c)})
		}
	}
	if len(out) == 0 {
		return nil, errNoColumns
	}
	return out, nil
}

// declarationOfCommon is the type that takes every value of a type of the metadata schema.
func declarationOfCommon(c schema.Common) string {
	switch c.Type {
	case schema.Boolean:
		return "bit"
	case schema.Int32:
		return "int"
	case schema.Int64:
		return "bigint"
	case schema.Float32:
		return "real"
	case schema.Float64:
		return "float"
	case schema.ByteArray:
		return "varbinary(max)"
	case schema.Decimal:
		if c.Logical != nil && c.Logical.Decimal != nil {
			return fmt.Sprintf("decimal(%d,%d)", c.Logical.Decimal.Precision, c.Logical.Decimal.Scale)
		}
	case schema.Date:
		return "date"
	case schema.TimeOfDay:
		return "time(7)"
	case schema.Timestamp:
		if c.EffectiveTimestamp().AdjustToUTC {
			return "datetimeoffset(7)"
		}
		return "datetime2(7)"
	case schema.UUID:
		return "uniqueidentifier"
	}
	return "nvarchar(max)"
}

// declarationOfArrow is the type that takes every value of an Arrow field: the SQL Server type that it names, if it does.
func declarationOfArrow(f arrow.Field) string {
	t, err := sqltype.FromField(f)
	if err != nil {
		t, err = sqltype.FromExportedField(f)
	}
	if err == nil && t.Kind() != sqltype.RowVersion {
		return t.ColumnDeclaration()
	}
	switch t := f.Type.(type) {
	case *arrow.DictionaryType:
		return declarationOfArrow(arrow.Field{Type: t.ValueType})
	case arrow.DecimalType:
		precision, scale := t.GetPrecision(), t.GetScale()
		if scale < 0 {
			precision, scale = precision-scale, 0
		}
		return fmt.Sprintf("decimal(%d,%d)", min(precision, 38), min(scale, 38))
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "datetimeoffset(7)"
		}
		return "datetime2(7)"
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return "uniqueidentifier"
		}
		return declarationOfArrow(arrow.Field{Type: t.StorageType()})
	}
	switch f.Type.ID() {
	case arrow.BOOL:
		return "bit"
	case arrow.UINT8:
		return "tinyint"
	case arrow.INT8, arrow.INT16:
		return "smallint"
	case arrow.INT32, arrow.UINT16:
		return "int"
	case arrow.INT64, arrow.UINT32:
		return "bigint"
	case arrow.UINT64:
		return "decimal(20,0)"
	case arrow.FLOAT16, arrow.FLOAT32:
		return "real"
	case arrow.FLOAT64:
		return "float"
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return "varbinary(max)"
	case arrow.DATE32, arrow.DATE64:
		return "date"
	case arrow.TIME32, arrow.TIME64:
		return "time(7)"
	}
	return "nvarchar(max)"
}
