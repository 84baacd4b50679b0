package cdc

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// window is a checked call of a change function: a closed interval of LSNs and an option.
type window struct {
	from, to storage.LSN
	option   string
}

// window checks the arguments of a change function: 313 for a NULL bound, a bound outside of the instance's range, an
// empty interval or an unknown option.
func (m *Manager) window(c *exec.Context, i *instance, from, to, option value.Value, net bool) (window, error) {
	w := window{}
	if from.IsNull() || to.IsNull() || option.IsNull() {
		return w, errWindow(net)
	}
	w.from, w.to, w.option = lsnOf(from.Bytes()), lsnOf(to.Bytes()), strings.ToLower(strings.Trim(option.Str(), " "))
	options := []string{"all", "all update old"}
	if net {
		options = []string{"all", "all with mask", "all with merge"}
	}
	known := false
	for _, o := range options {
		known = known || o == w.option
	}
	newest, err := m.maxLSN(c, nil)
	if err != nil {
		return w, err
	}
	if !known || !i.started || newest.IsNull() || w.from.Compare(i.start) < 0 || w.to.Compare(lsnOf(newest.Bytes())) > 0 || w.from.Compare(w.to) > 0 {
		return w, errWindow(net)
	}
	return w, nil
}

// findFunction resolves cdc.fn_cdc_get_all_changes_<instance> and cdc.fn_cdc_get_net_changes_<instance>.
func (m *Manager) findFunction(c *exec.Context, db *storage.Database, schema, name string) *exec.TableFunc {
	if db.Collation.Compare(schema, schemaName, true) != 0 {
		return nil
	}
	var inst string
	net := false
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, allChangesPrefix):
		inst = name[len(allChangesPrefix):]
	case strings.HasPrefix(lower, netChangesPrefix):
		inst, net = name[len(netChangesPrefix):], true
	default:
		return nil
	}
	root := db.Root()
	if r := c.Session.Replica(); r != nil {
		if rr := r.Root(db); rr != nil {
			root = rr
		}
	}
	list, err := instances(committed(root))
	if err != nil {
		return nil
	}
	i := named(db, list, inst)
	if i == nil || net && !i.netChanges {
		return nil
	}
	t, ok := root.Object(schemaName, i.changeTable()).(*storage.Table)
	if !ok {
		return nil
	}
	f := &changeFunction{m: m, name: name, i: i, table: t.Live(), def: t.Def(), net: net}
	return &exec.TableFunc{
		Schema: schemaName, Name: name, Min: 3, Max: 3, ArgTypes: []value.Type{binary10, binary10, {ID: value.NVarChar, Len: 30}},
		Columns: f.columns(), Rows: f.rows,
	}
}

// changeFunction is one function of one instance.
type changeFunction struct {
	m     *Manager
	name  string
	i     *instance
	table *storage.Table
	def   *storage.TableDef
	net   bool
}

// columns are the result's: no __$end_lsn and no __$command_id; the net function has no __$seqval either.
func (f *changeFunction) columns() []exec.Column {
	var out []exec.Column
	for at, c := range f.def.Columns {
		if at == ctEndLSN || c.Name == commandIDColumn && at == len(f.def.Columns)-1 || f.net && at == ctSeqVal {
			continue
		}
		out = append(out, exec.Column{Name: c.Name, Type: c.Type, Nullable: true})
	}
	return out
}

func (f *changeFunction) rows(c *exec.Context, a []value.Value) iter.Seq2[[]value.Value, error] {
	return func(yield func([]value.Value, error) bool) {
		if !mayRead(c, rootOf(c), f.i) {
			if f.m.options(c.DB).NullRowOnDenied {
				yield(make([]value.Value, len(f.columns())), nil)
				return
			}
			yield(nil, sqlerr.New(229, "SELECT", f.name, c.DB.Name(), schemaName))
			return
		}
		w, err := f.m.window(c, f.i, a[0], a[1], a[2], f.net)
		if err != nil {
			yield(nil, err)
			return
		}
		if f.net {
			f.netRows(c, w, yield)
			return
		}
		for row, err := range f.scan(c, w) {
			if err != nil {
				yield(nil, err)
				return
			}
			if row[ctOperation].Int() == int64(storage.OpBefore) && w.option == "all" {
				continue
			}
			if !yield(f.allRow(row), nil) {
				return
			}
		}
	}
}

// scan yields the change rows of a window in the order of the clustered index. Like the body of a server's function it
// reads without locks: what lies below the largest LSN of cdc.lsn_time_mapping is final.
func (f *changeFunction) scan(c *exec.Context, w window) iter.Seq2[[]value.Value, error] {
	return func(yield func([]value.Value, error) bool) {
		x := f.def.Indexes[0]
		r := storage.Range{From: x.AppendKey(nil, f.def, lsnValue(w.from)), To: x.AppendKey(nil, f.def, lsnValue(w.to)), ToIncl: true}
		for row, err := range c.Tx.Scan(c.Context(), f.table, 0, r, storage.Access{Hint: storage.NoLock}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(row.Vals, nil) {
				return
			}
		}
	}
}

// allRow cuts a change row to the columns of the all changes function.
func (f *changeFunction) allRow(row []value.Value) []value.Value {
	out := make([]value.Value, 0, len(row))
	out = append(out, row[ctStartLSN], row[ctSeqVal], row[ctOperation], row[ctMask])
	return append(out, row[ctCaptured:ctCaptured+len(f.i.columns)]...)
}
