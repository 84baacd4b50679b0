package storage

import (
	"iter"
	"time"

	"github.com/tidwall/btree"
)

// Root is the whole committed state of a database after one commit. It is immutable and may be kept as long as wanted.
type Root struct {
	db      *Database
	Time    time.Time // of the commit
	LSN     LSN       // of the commit; zero before the first one
	props   Props
	catalog *catalog
	tables  *btree.Map[int32, *version]
	log     []*LogRecord // what was not yet truncated; shared with the database
}

var _ Catalog = (*Root)(nil)

// Database is the database that the Root belongs to.
func (r *Root) Database() *Database { return r.db }

// Props are the database's options at the time.
func (r *Root) Props() Props { return r.props }

// Object implements Catalog. Tables that it returns have the Root's definition.
func (r *Root) Object(schema, name string) Object { return r.pin(r.catalog.object(schema, name)) }

// ObjectByID implements Catalog.
func (r *Root) ObjectByID(id int32) Object { return r.pin(r.catalog.objects[id]) }

// Objects implements Catalog.
func (r *Root) Objects() []Object {
	out := r.catalog.list()
	for i, o := range out {
		out[i] = r.pin(o)
	}
	return out
}

// Children implements Catalog.
func (r *Root) Children(id int32) []*Module { return r.catalog.children[id] }

// Schema implements Catalog.
func (r *Root) Schema(name string) *Schema { return r.catalog.schemaNamed(name) }

// SchemaByID implements Catalog.
func (r *Root) SchemaByID(id int32) *Schema { return r.catalog.schemas[id] }

// Schemas implements Catalog.
func (r *Root) Schemas() []*Schema { return r.catalog.schemaList() }

func (r *Root) pin(o Object) Object {
	t, ok := o.(*Table)
	if !ok {
		return o
	}
	if v, ok := r.tables.Get(t.core.id); ok {
		return v.table
	}
	return nil
}

func (r *Root) version(c *tableCore) *version {
	v, ok := r.tables.Get(c.id)
	if !ok || v.table.core != c {
		return nil
	}
	return v
}

// Rows yields the rows of a table in clustered order without a transaction; nothing if the Root has no such table.
func (r *Root) Rows(t *Table) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if v := r.version(t.core); v != nil {
			v.store.trees[0].Scan(func(it item) bool { return yield(it.row) })
		}
	}
}

// RowCount is the number of rows of a table.
func (r *Root) RowCount(t *Table) int64 {
	if v := r.version(t.core); v != nil {
		return int64(v.store.trees[0].Len())
	}
	return 0
}
