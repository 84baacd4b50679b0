package exec

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// View is a system view: its rows are made when it is read.
type View struct {
	Schema, Name string
	Columns      []Column
	Rows         func(c *Context) iter.Seq2[[]value.Value, error]
	// InMaster says that the view exists in master alone (dbo.sysdatabases); the others exist in every database.
	InMaster bool
}

// ProcParam is one parameter of a system procedure, in order. Name has its "@".
type ProcParam struct {
	Name       string
	Type       value.Type
	HasDefault bool
	Default    value.Value
	Output     bool
}

// Proc is a system procedure. Run's args are in the order of Params, already converted to their types; for output
// parameters Run writes the result into args. given tells which parameters the caller named or passed.
type Proc struct {
	Schema, Name string
	Params       []ProcParam
	Run          func(c *Context, args []value.Value, given []bool) (status int32, err error)
}

// Scalar is a function that depends on the session or the catalog. Schema is "sys" for sys.fn_…, "" for functions that
// are called by one name (OBJECT_ID). Where ArgTypes is set, arguments are converted to those types first (the last one
// repeats); a zero Type leaves the argument alone.
type Scalar struct {
	Schema, Name string
	Min, Max     int
	Type         value.Type
	TypeOf       func(args []value.Type) value.Type // instead of Type, if set
	ArgTypes     []value.Type
	Eval         func(c *Context, args []value.Value) (value.Value, error)
}

// TableFunc is a table-valued function of the server.
type TableFunc struct {
	Schema, Name string
	Min, Max     int
	ArgTypes     []value.Type
	Columns      []Column
	Rows         func(c *Context, args []value.Value) iter.Seq2[[]value.Value, error]
}

// Registry holds the server's own objects. It is filled before the first session and only read afterwards.
type Registry struct {
	// FindTableFunc resolves functions that exist per database (cdc.fn_cdc_get_all_changes_…), FindScalar likewise,
	// FindView and FindProc too; nil results mean "not found".
	FindTableFunc func(c *Context, db *storage.Database, schema, name string) *TableFunc
	FindView      func(c *Context, db *storage.Database, schema, name string) *View

	// Hooks become those of the instances that are made with the registry.
	Hooks Hooks

	views   map[string]*View
	procs   map[string]*Proc
	scalars map[string]*Scalar
	tables  map[string]*TableFunc
	globals map[string]*Scalar
	// ordered keeps the views for listings.
	ordered []*View
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{
		views: map[string]*View{}, procs: map[string]*Proc{}, scalars: map[string]*Scalar{},
		tables: map[string]*TableFunc{}, globals: map[string]*Scalar{},
	}
}

func regKey(schema, name string) string { return strings.ToLower(schema) + "." + strings.ToLower(name) }

// AddView registers a system view; a later one of the same name replaces the earlier.
func (r *Registry) AddView(v *View) {
	r.views[regKey(v.Schema, v.Name)] = v
	r.ordered = append(r.ordered, v)
}

// AddProc registers a system procedure. Names that begin with sp_ are found in every database and schema.
func (r *Registry) AddProc(p *Proc) { r.procs[regKey(p.Schema, p.Name)] = p }

// AddScalar registers a scalar function.
func (r *Registry) AddScalar(f *Scalar) { r.scalars[regKey(f.Schema, f.Name)] = f }

// AddTableFunc registers a table-valued function.
func (r *Registry) AddTableFunc(f *TableFunc) { r.tables[regKey(f.Schema, f.Name)] = f }

// AddGlobal registers a global variable (Name with its "@@") beyond those that exec knows.
func (r *Registry) AddGlobal(f *Scalar) { r.globals[strings.ToLower(f.Name)] = f }

// Views lists the registered views in order.
func (r *Registry) Views() []*View { return r.ordered }

func (r *Registry) view(schema, name string) *View { return r.views[regKey(schema, name)] }

// proc finds a system procedure: by schema, else any sp_ or xp_ name in sys or dbo.
func (r *Registry) proc(schema, name string) *Proc {
	if schema != "" {
		if p := r.procs[regKey(schema, name)]; p != nil {
			return p
		}
		if !strings.EqualFold(schema, "dbo") && !strings.EqualFold(schema, "sys") {
			return nil
		}
	}
	for _, s := range [...]string{"sys", "", "dbo"} {
		if p := r.procs[regKey(s, name)]; p != nil {
			return p
		}
	}
	return nil
}

func (r *Registry) scalar(schema, name string) *Scalar { return r.scalars[regKey(schema, name)] }

func (r *Registry) table(schema, name string) *TableFunc { return r.tables[regKey(schema, name)] }
