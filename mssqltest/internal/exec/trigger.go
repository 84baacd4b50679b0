package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// The events of DML triggers, as bits.
const (
	onInsert uint8 = 1 << iota
	onUpdate
	onDelete
)

var eventOf = map[string]uint8{"INSERT": onInsert, "UPDATE": onUpdate, "DELETE": onDelete}

// trigger is the parsed form of a DML trigger.
type trigger struct {
	events   uint8
	instead  bool // INSTEAD OF
	notRepl  bool // NOT FOR REPLICATION
	disabled bool
	body     []ast.Statement
	b        *batch
}

// triggerStatement finds how to run CREATE, ALTER, DROP, ENABLE and DISABLE TRIGGER.
func (r *run) triggerStatement(st ast.Statement) (func() error, bool) {
	ddl := func(fn func() error) (func() error, bool) { return func() error { return r.ddl(fn) }, true }
	switch x := st.(type) {
	case *ast.CreateTriggerStatement:
		return ddl(func() error { return r.defineTrigger(x, verbCreate) })
	case *ast.CreateOrAlterTriggerStatement:
		return ddl(func() error { return r.defineTrigger((*ast.CreateTriggerStatement)(x), verbCreateOrAlter) })
	case *ast.AlterTriggerStatement:
		return ddl(func() error { return r.defineTrigger((*ast.CreateTriggerStatement)(x), verbAlter) })
	case *ast.DropTriggerStatement:
		return ddl(func() error {
			if x.TriggerScope != "" && x.TriggerScope != "Normal" {
				return notSupported("triggers of a database or of the server")
			}
			return r.dropModules(x.Objects, x.IsIfExists, "trigger", "TR")
		})
	case *ast.EnableDisableTriggerStatement:
		return ddl(func() error { return r.switchTriggers(x) })
	}
	return nil, false
}

// defineTrigger is CREATE and ALTER TRIGGER: 8197 for a table that is not there, 2103 for one of another schema, 2111 for a
// second INSTEAD OF trigger of an event.
func (r *run) defineTrigger(x *ast.CreateTriggerStatement, verb moduleVerb) error {
	if x.TriggerObject == nil || x.TriggerObject.TriggerScope != "Normal" || x.TriggerObject.Name == nil {
		return notSupported("triggers of a database or of the server")
	}
	if x.MethodSpecifier != nil || x.StatementList == nil {
		return notSupported("triggers of an assembly")
	}
	c := r.compiler()
	on, err := c.nameOf(x.TriggerObject.Name)
	if err != nil {
		return err
	}
	t, ok := r.object(on.db, on.schema, on.name).(*storage.Table)
	if !ok || on.db != c.db {
		if m := r.module(on.db, on.schema, on.name); m != nil && m.Type == "V" && x.TriggerType == "InsteadOf" {
			return notSupported("INSTEAD OF triggers of a view")
		}
		return sqlerr.New(8197, on.text)
	}
	if err := r.writable(on.db); err != nil {
		return err
	}
	def := t.Def()
	if err := r.permit(on.db, &def.ObjectHeader, "ALTER"); err != nil {
		return sqlerr.New(8197, on.text)
	}
	name := *x.Name
	if name.SchemaIdentifier == nil {
		name.SchemaIdentifier = &ast.Identifier{Value: def.Schema}
		name.Identifiers = append([]*ast.Identifier{name.SchemaIdentifier}, name.Identifiers...)
	}
	o, err := c.nameOf(&name)
	if err != nil {
		return err
	}
	if !sameName(o.schema, def.Schema) {
		return sqlerr.New(2103, map[bool]string{true: "alter", false: "create"}[verb == verbAlter], o.name)
	}
	tg := &trigger{instead: x.TriggerType == "InsteadOf", notRepl: x.IsNotForReplication, body: x.StatementList.Statements, b: r.b}
	for _, a := range x.TriggerActions {
		ev := eventOf[strings.ToUpper(a.TriggerActionType)]
		if ev == 0 {
			return sqlerr.New(1084, a.TriggerActionType)
		}
		tg.events |= ev
	}
	if tg.events == 0 {
		return near102(o.name)
	}
	old, _ := r.object(on.db, o.schema, o.name).(*storage.Module)
	if tg.instead {
		if err := r.oneInstead(on, t, tg, old, o.name); err != nil {
			return err
		}
	}
	m := &storage.Module{Parsed: tg, Text: r.text()}
	m.Schema, m.SchemaID, m.Name, m.Type, m.Parent = def.Schema, def.SchemaID, o.name, "TR", t.ID()
	switch {
	case verb == verbCreate || verb == verbCreateOrAlter && old == nil:
		return r.stmt.tx.CreateModule(on.db, m)
	case old == nil:
		return sqlerr.New(208, o.text)
	case old.Type != "TR" || old.Parent != t.ID():
		return sqlerr.New(2010, o.text)
	}
	return r.stmt.tx.AlterModule(on.db, old, m)
}

func (r *run) oneInstead(on objectName, t *storage.Table, tg *trigger, old *storage.Module, name string) error {
	for _, m := range r.catalog(on.db).Children(t.ID()) {
		other, ok := m.Parsed.(*trigger)
		if !ok || !other.instead || m == old {
			continue
		}
		for _, verb := range [...]string{"INSERT", "UPDATE", "DELETE"} {
			if eventOf[verb]&tg.events&other.events != 0 {
				return sqlerr.New(2111, name, on.text, verb)
			}
		}
	}
	return nil
}

// alterTriggers is ALTER TABLE … ENABLE TRIGGER and DISABLE TRIGGER; a trigger that the table has not is 4920.
func (r *run) alterTriggers(x *ast.AlterTableTriggerModificationStatement) error {
	t, o, err := r.tableToAlter(x.SchemaObjectName)
	if err != nil {
		return err
	}
	var names []string
	if !x.All {
		names = identifierNames(x.TriggerNames)
	}
	missing, err := r.enableTriggers(o.db, t.ID(), names, x.TriggerEnforcement == "Enable")
	if err == nil && missing != "" {
		return sqlerr.New(4920, missing, o.name)
	}
	return err
}

// switchTriggers is ENABLE TRIGGER … ON and DISABLE TRIGGER … ON; what is not there is 1088.
func (r *run) switchTriggers(x *ast.EnableDisableTriggerStatement) error {
	if x.TriggerObject == nil || x.TriggerObject.Name == nil {
		return notSupported("triggers of a database or of the server")
	}
	t, o, err := r.tableToAlter(x.TriggerObject.Name)
	if err != nil {
		if e := r.asSQL(err); e != nil && e.Number == 4902 {
			return sqlerr.New(1088, o.text)
		}
		return err
	}
	var names []string
	if !x.All {
		for _, n := range x.TriggerNames {
			names = append(names, n.BaseIdentifier.Value)
		}
	}
	missing, err := r.enableTriggers(o.db, t.ID(), names, x.TriggerEnforcement == "Enable")
	if err == nil && missing != "" {
		return sqlerr.New(1088, missing)
	}
	return err
}

// enableTriggers turns triggers of a table on or off, all of them without names. It returns a name that it did not find.
func (r *run) enableTriggers(db *storage.Database, table int32, names []string, on bool) (missing string, err error) {
	all := r.catalog(db).Children(table)
	found := make([]bool, len(names))
	for _, m := range all {
		tg, ok := m.Parsed.(*trigger)
		hit := len(names) == 0
		for i, n := range names {
			if db.Collation.Compare(n, m.Name, true) == 0 {
				hit, found[i] = true, true
			}
		}
		if !ok || !hit || tg.disabled == !on {
			continue
		}
		cp := *tg
		cp.disabled = !on
		n := *m
		n.Parsed = &cp
		if err := r.stmt.tx.AlterModule(db, m, &n); err != nil {
			return "", err
		}
	}
	for i, ok := range found {
		if !ok {
			return names[i], nil
		}
	}
	return "", nil
}

// TriggerInfo is what the catalog shows of a trigger. Events are the numbers of sys.trigger_events.
type TriggerInfo struct {
	Events                                 []int
	InsteadOf, Disabled, NotForReplication bool
}

// ModuleTrigger describes a module of type TR.
func ModuleTrigger(m *storage.Module) (TriggerInfo, bool) {
	tg, ok := m.Parsed.(*trigger)
	if !ok {
		return TriggerInfo{}, false
	}
	info := TriggerInfo{InsteadOf: tg.instead, Disabled: tg.disabled, NotForReplication: tg.notRepl}
	for i, ev := range [...]uint8{onInsert, onUpdate, onDelete} {
		if tg.events&ev != 0 {
			info.Events = append(info.Events, i+1)
		}
	}
	return info, true
}
