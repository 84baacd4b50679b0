package snapshot

import (
	"context"
	"database/sql/driver"
	"fmt"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/sqltype"
)

// settle reads suspect texts again, exactly, by the keys of their rows. A row
// that is gone meanwhile has no exact text: the page is read again.
func (r *Reader) settle(ctx context.Context, keys []Key) error {
	for i, cell := range r.builder.Suspects() {
		column := r.plan.result[cell.Column]
		quoted := "t." + catalog.Quote(column.Name)
		s, err := r.plan.exactText(quoted, column.Type.Kind() == sqltype.Variant, keys[i], r.iso)
		if err != nil {
			return r.wrap(err)
		}
		var units []byte
		err = request.Each(ctx, r.conn, s, func(_ int, _ []string, row []driver.Value) error {
			b, ok := row[0].([]byte)
			if !ok && row[0] != nil {
				return fmt.Errorf("reading the exact text of column %s: the driver gave a %T", column.Name, row[0])
			}
			if ok {
				units = append([]byte{}, b...)
			}
			return nil
		})
		if err != nil {
			return r.explain(err)
		}
		if units == nil {
			return r.wrap(errChanged)
		}
		if err := r.builder.Settle(cell, units); err != nil {
			return &ValueError{Table: r.plan.table, Err: err}
		}
	}
	return nil
}
