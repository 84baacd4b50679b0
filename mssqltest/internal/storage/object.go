package storage

import "time"

// Schema is a schema of a database.
type Schema struct {
	ID   int32
	Name string
}

// The schemas that every database has.
const (
	SchemaDBO               int32 = 1
	SchemaGuest             int32 = 2
	SchemaInformationSchema int32 = 3
	SchemaSys               int32 = 4
)

// ObjectHeader is what all schema objects have; Type is sys.objects.type without its padding (U, V, P, FN, IF, TF, TR, SN, SO …).
type ObjectHeader struct {
	ID                int32
	SchemaID          int32
	Schema, Name      string
	Type              string
	Parent            int32 // object_id of a trigger's table; 0 for most
	Created, Modified time.Time
}

// Object is anything that lives in a schema under a name: *Table, *Module.
type Object interface {
	// Header is the object's present header; it must not be changed.
	Header() *ObjectHeader
}

// Module is an object that is a text: view, procedure, function, trigger, synonym, alias type. It is immutable; AlterModule
// replaces it.
type Module struct {
	ObjectHeader
	Text   string
	Parsed any
}

// Header implements Object.
func (m *Module) Header() *ObjectHeader { return &m.ObjectHeader }

// QualifiedName is schema.name, as messages show it.
func (h *ObjectHeader) QualifiedName() string { return h.Schema + "." + h.Name }
