package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/sqltype"
)

// OpenTable describes a table that need not be captured, and returns a reader of
// some of its columns, all for none: for looking at rows that no stream follows.
// It has no Handover; Read and Bound take the zero LSN, and ReadAll no guard.
// Where SNAPSHOT isolation is not allowed, it also reads a table without a key.
func OpenTable(ctx context.Context, conn Conn, schema, table string, columns []string, opts Options) (*Reader, error) {
	name := catalog.Name{Schema: schema, Object: table}
	r := &Reader{conn: conn, opts: opts, plan: &plan{table: name.String(), object: name.Quoted()}, inst: &catalog.Instance{}}
	inst, err := catalog.LoadTable(ctx, conn, name)
	if errors.Is(err, catalog.ErrNoTable) {
		return nil, &GoneError{Table: r.plan.table, Err: catalog.ErrNoTable}
	}
	if err != nil {
		return nil, r.explain(err)
	}
	if r.source, err = catalog.LoadSource(ctx, conn, inst.SourceID, inst.Source); err != nil {
		return nil, r.explain(err)
	}
	if len(columns) > 0 {
		if inst.Columns, err = narrowed(inst.Columns, columns); err != nil {
			return nil, r.wrap(err)
		}
	}
	r.inst, r.opts.Filter = inst, strings.TrimSpace(opts.Filter)
	r.plan = newPlan(inst, r.source, r.opts.Filter)
	if len(r.plan.result) == 0 {
		return nil, r.wrap(errors.New("no column can be read; computed ones are not"))
	}
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	for _, c := range r.plan.key {
		inst.Key = append(inst.Key, c.name)
	}
	return r, r.build()
}

// narrowed gives the columns of some names, in the order of the names.
func narrowed(all []catalog.Column, names []string) (out []catalog.Column, _ error) {
	for _, n := range names {
		found := false
		for _, c := range all {
			if c.Name == n {
				out, found = append(out, c), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no column %s", n)
		}
	}
	return out, nil
}

// ChunkKey names the columns of the key that chunks go by, in its order.
func (r *Reader) ChunkKey() []string {
	var out []string
	for _, c := range r.plan.key {
		out = append(out, c.name)
	}
	return out
}

// Follows tells whether the keys of both tables have the same columns and the
// same order, and this one's hold every key of the other: then the rows between
// two keys of the other are those between the adopted keys here.
func (r *Reader) Follows(other *Reader) bool {
	if r.Keyless() || len(r.plan.key) != len(other.plan.key) {
		return false
	}
	for i, c := range r.plan.key {
		o := other.plan.key[i]
		mine, myRoom := orderOf(c.typ)
		theirs, room := orderOf(o.typ)
		if !strings.EqualFold(c.name, o.name) || c.desc != o.desc || mine != theirs || myRoom < room {
			return false
		}
	}
	return true
}

// orderOf says how values of a type are ordered, so that equal answers mean the
// same order of the same values, and how much room there is for them.
func orderOf(t sqltype.Type) (order string, room int) {
	switch t.Name {
	case "tinyint":
		return "integer", 1
	case "smallint":
		return "integer", 2
	case "int":
		return "integer", 4
	case "bigint":
		return "integer", 8
	case "decimal", "numeric":
		return fmt.Sprintf("decimal %d", t.Scale), t.Precision
	case "money":
		return "decimal 4", 19
	case "smallmoney":
		return "decimal 4", 10
	case "char", "varchar":
		return "varchar " + t.Collation, t.Length
	case "nchar", "nvarchar":
		return "nvarchar " + t.Collation, t.Length
	}
	return t.String(), 0
}

// Adopt makes the key of a reader that this one follows a key of its own table.
func (r *Reader) Adopt(k Key) (Key, error) {
	if k.IsZero() {
		return k, nil
	}
	if len(k.values) != len(r.plan.key) {
		return Key{}, &KeyError{Table: r.plan.table, Key: k, Want: Key{columns: r.plan.columns()}.columnTexts()}
	}
	for i, c := range r.plan.key {
		if _, err := c.arg(k.values[i]); err != nil {
			return Key{}, r.wrap(fmt.Errorf("column %s of the key: %w", c.name, err))
		}
	}
	return Key{columns: r.plan.columns(), values: k.values}, nil
}
