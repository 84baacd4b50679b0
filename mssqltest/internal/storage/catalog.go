package storage

import (
	"cmp"
	"maps"
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// Catalog finds schema objects by name, compared by the database's collation. *Database (current state) and *Root
// implement it.
type Catalog interface {
	// Object returns the object of a schema, nil if there is none.
	Object(schema, name string) Object
	ObjectByID(id int32) Object
	// Objects lists all objects by object_id.
	Objects() []Object
	// Children lists the modules that belong to an object, the triggers of a table, by object_id.
	Children(id int32) []*Module
	Schema(name string) *Schema
	SchemaByID(id int32) *Schema
	// Schemas lists all schemas by schema_id.
	Schemas() []*Schema
}

// catalog is an immutable set of schemas and objects; with makes a changed copy.
type catalog struct {
	coll     *collate.Collation
	objects  map[int32]Object
	names    map[string]int32 // nameKey(schema, name)
	children map[int32][]*Module
	schemas  map[int32]*Schema
	schema   map[string]int32
}

func newCatalog(c *collate.Collation) *catalog {
	k := &catalog{coll: c, objects: map[int32]Object{}, names: map[string]int32{}, children: map[int32][]*Module{},
		schemas: map[int32]*Schema{}, schema: map[string]int32{}}
	for _, s := range []*Schema{{SchemaDBO, "dbo"}, {SchemaGuest, "guest"}, {SchemaInformationSchema, "INFORMATION_SCHEMA"}, {SchemaSys, "sys"}} {
		k.schemas[s.ID] = s
		k.schema[k.fold(s.Name)] = s.ID
	}
	return k
}

func (k *catalog) fold(name string) string { return string(k.coll.AppendKey(nil, name, true)) }

func (k *catalog) nameKey(schema, name string) string { return k.fold(schema) + k.fold(name) }

// catalogOp is one change: before leaves, after enters. The names are kept apart from the objects because a table's
// header changes.
type catalogOp struct {
	before, after             Object
	beforeHeader, afterHeader *ObjectHeader
	schemaBefore, schemaAfter *Schema
}

func (o catalogOp) inverse() catalogOp {
	return catalogOp{before: o.after, after: o.before, beforeHeader: o.afterHeader, afterHeader: o.beforeHeader,
		schemaBefore: o.schemaAfter, schemaAfter: o.schemaBefore}
}

// with returns the catalog after o.
func (k *catalog) with(o catalogOp) *catalog {
	n := *k
	if o.before != nil || o.after != nil {
		n.objects, n.names = maps.Clone(k.objects), maps.Clone(k.names)
		if h := o.beforeHeader; o.before != nil {
			delete(n.objects, h.ID)
			if n.names[k.nameKey(h.Schema, h.Name)] == h.ID {
				delete(n.names, k.nameKey(h.Schema, h.Name))
			}
		}
		if h := o.afterHeader; o.after != nil {
			n.objects[h.ID] = o.after
			n.names[k.nameKey(h.Schema, h.Name)] = h.ID
		}
		n.adopt(o)
	}
	if o.schemaBefore != nil || o.schemaAfter != nil {
		n.schemas, n.schema = maps.Clone(k.schemas), maps.Clone(k.schema)
		if s := o.schemaBefore; s != nil {
			delete(n.schemas, s.ID)
			delete(n.schema, k.fold(s.Name))
		}
		if s := o.schemaAfter; s != nil {
			n.schemas[s.ID] = s
			n.schema[k.fold(s.Name)] = s.ID
		}
	}
	return &n
}

// adopt moves a module with a parent in the list of that parent's children.
func (k *catalog) adopt(o catalogOp) {
	before, _ := o.before.(*Module)
	after, _ := o.after.(*Module)
	if (before == nil || before.Parent == 0) && (after == nil || after.Parent == 0) {
		return
	}
	k.children = maps.Clone(k.children)
	if before != nil {
		left := slices.DeleteFunc(slices.Clone(k.children[before.Parent]), func(m *Module) bool { return m.ID == before.ID })
		k.children[before.Parent] = left
		if len(left) == 0 {
			delete(k.children, before.Parent)
		}
	}
	if after != nil {
		all := append(slices.Clone(k.children[after.Parent]), after)
		slices.SortFunc(all, func(a, b *Module) int { return cmp.Compare(a.ID, b.ID) })
		k.children[after.Parent] = all
	}
}

func (k *catalog) object(schema, name string) Object {
	if id, ok := k.names[k.nameKey(schema, name)]; ok {
		return k.objects[id]
	}
	return nil
}

func (k *catalog) list() []Object {
	ids := slices.Sorted(maps.Keys(k.objects))
	out := make([]Object, len(ids))
	for i, id := range ids {
		out[i] = k.objects[id]
	}
	return out
}

func (k *catalog) schemaNamed(name string) *Schema {
	if id, ok := k.schema[k.fold(name)]; ok {
		return k.schemas[id]
	}
	return nil
}

func (k *catalog) schemaList() []*Schema {
	return slices.SortedFunc(maps.Values(k.schemas), func(a, b *Schema) int { return cmp.Compare(a.ID, b.ID) })
}
