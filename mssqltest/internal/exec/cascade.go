package exec

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// The referential actions of ON DELETE and ON UPDATE.
const (
	noAction         = ""
	cascadeAction    = "CASCADE"
	setNullAction    = "SETNULL"
	setDefaultAction = "SETDEFAULT"
)

// referential reads an action as the parser gives it.
func referential(action string) string {
	switch a := strings.ToUpper(strings.NewReplacer(" ", "", "_", "").Replace(action)); a {
	case cascadeAction, setNullAction, setDefaultAction:
		return a
	}
	return noAction
}

// actions checks the referential actions of a new foreign key: SET NULL needs nullable columns (1761), SET DEFAULT a default
// where they are not (1762), and no table may be met twice on the way that a change takes through actions (1785).
func (b *tableBuilder) actions(fk *storage.ForeignKey) error {
	del, upd := referential(fk.OnDelete), referential(fk.OnUpdate)
	for _, i := range fk.Columns {
		c := b.def.Columns[i]
		if c.Nullable {
			continue
		}
		if del == setNullAction || upd == setNullAction {
			return sqlerr.New(1761, fk.Name)
		}
		if (del == setDefaultAction || upd == setDefaultAction) && c.Default == nil {
			return sqlerr.New(1762, fk.Name)
		}
	}
	if del == noAction && upd == noAction {
		return nil
	}
	if b.def.ID == 0 {
		b.def.ID = b.o.db.NextObjectID()
	}
	g := cascadeGraph{}
	g.add(b.def.ID, fk)
	for _, other := range b.def.ForeignKeys {
		g.add(b.def.ID, other)
	}
	for _, o := range b.c.r.catalog(b.o.db).Objects() {
		if t, ok := o.(*storage.Table); ok && t.ID() != b.def.ID {
			for _, other := range t.Def().ForeignKeys {
				g.add(t.ID(), other)
			}
		}
	}
	for table := range g {
		for _, deleted := range [...]bool{true, false} {
			if !g.tree(table, deleted, map[int32]bool{}) {
				return sqlerr.New(1785, fk.Name, b.o.name)
			}
		}
	}
	return nil
}

// cascadeGraph has for each table the foreign keys that refer to it.
type cascadeGraph map[int32][]cascadeEdge

type cascadeEdge struct {
	child    int32
	del, upd string
}

func (g cascadeGraph) add(child int32, fk *storage.ForeignKey) {
	g[fk.RefTable] = append(g[fk.RefTable], cascadeEdge{child, referential(fk.OnDelete), referential(fk.OnUpdate)})
}

// tree follows a delete or an update of a table and reports whether it meets each table once.
func (g cascadeGraph) tree(table int32, deleted bool, met map[int32]bool) bool {
	if met[table] {
		return false
	}
	met[table] = true
	for _, e := range g[table] {
		action := e.upd
		if deleted {
			action = e.del
		}
		if action != noAction && !g.tree(e.child, deleted && action == cascadeAction, met) {
			return false
		}
	}
	return true
}
