package cdc

import (
	"context"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// registerScalars adds the sys.fn_cdc_… functions (Microsoft Learn, "Change Data Capture Functions").
func (m *Manager) registerScalars(reg *exec.Registry) {
	sysname, nv30, datetime := sysrow.TypeNamed("sysname"), sysrow.TypeNamed("nvarchar(30)"), sysrow.TypeNamed("datetime")
	add := func(name string, t value.Type, eval func(c *exec.Context, a []value.Value) (value.Value, error), args ...value.Type) {
		reg.AddScalar(&exec.Scalar{Schema: "sys", Name: name, Min: len(args), Max: len(args), Type: t, ArgTypes: args, Eval: eval})
	}
	add("fn_cdc_get_min_lsn", binary10, m.minLSN, sysname)
	add("fn_cdc_get_max_lsn", binary10, m.maxLSN)
	add("fn_cdc_increment_lsn", binary10, lsnStep(incrementLSN), binary10)
	add("fn_cdc_decrement_lsn", binary10, lsnStep(decrementLSN), binary10)
	add("fn_cdc_map_time_to_lsn", binary10, m.timeToLSN, nv30, datetime)
	add("fn_cdc_map_lsn_to_time", datetime, m.lsnToTime, binary10)
	add("fn_cdc_get_column_ordinal", intType, m.columnOrdinal, sysname, sysname)
	add("fn_cdc_is_bit_set", bitType, isBitSet, intType, mask128)
	add("fn_cdc_has_column_changed", bitType, m.columnChanged, sysname, sysname, mask128)
	add("fn_cdc_check_parameters", bitType, m.checkParameters, sysname, binary10, binary10, nv30, bitType)
}

// rootOf is the committed state that the functions read: what sys.fn_cdc_get_max_lsn says does not depend on the
// isolation level of the caller.
func rootOf(c *exec.Context) *storage.Root {
	if r := c.Session.Replica(); r != nil {
		if root := r.Root(c.DB); root != nil {
			return root
		}
	}
	return c.DB.Root()
}

// visible finds an instance that the session may know of; nil for an unknown one.
func (m *Manager) visible(c *exec.Context, name value.Value) (*instance, error) {
	if name.IsNull() {
		return nil, nil
	}
	root := rootOf(c)
	list, err := instances(committed(root))
	if err != nil {
		return nil, err
	}
	i := named(c.DB, list, name.Str())
	if i == nil || !mayRead(c, root, i) {
		return nil, nil
	}
	return i, nil
}

// minLSN is sys.fn_cdc_get_min_lsn: zero for an instance that is unknown or out of bounds for the caller, NULL before the
// capture job has handled it.
func (m *Manager) minLSN(c *exec.Context, a []value.Value) (value.Value, error) {
	i, err := m.visible(c, a[0])
	if err != nil {
		return value.NullValue, err
	}
	if i == nil {
		return lsnValue(storage.LSN{}), nil
	}
	if !i.started || m.options(c.DB).Start == StartHidden && !m.isHandled(c.DB, i.object) {
		return value.NullValue, nil
	}
	return lsnValue(i.start), nil
}

// maxLSN is sys.fn_cdc_get_max_lsn: the newest row of cdc.lsn_time_mapping, dummies included.
func (m *Manager) maxLSN(c *exec.Context, _ []value.Value) (value.Value, error) {
	root := rootOf(c)
	t, ok := root.Object(schemaName, timeMapping).(*storage.Table)
	if !ok {
		return value.NullValue, nil
	}
	row, err := m.firstRow(c.Context(), root, t, 0, storage.Range{Reverse: true})
	if row == nil || err != nil {
		return value.NullValue, err
	}
	return row.Vals[0], nil
}

// firstRow is the first row of a range of a table in a committed state, nil if there is none.
func (m *Manager) firstRow(ctx context.Context, root *storage.Root, t *storage.Table, index int, r storage.Range) (*storage.Row, error) {
	tx := m.st.BeginAt(storage.TxOptions{}, root)
	defer tx.Rollback()
	for row, err := range tx.Scan(ctx, t, index, r, storage.Access{}) {
		return row, err
	}
	return nil, nil
}

func lsnStep(f func([10]byte) [10]byte) func(*exec.Context, []value.Value) (value.Value, error) {
	return func(_ *exec.Context, a []value.Value) (value.Value, error) {
		if a[0].IsNull() {
			return value.NullValue, nil
		}
		return lsnValue(f(lsnOf(a[0].Bytes()))), nil
	}
}

// timeToLSN is sys.fn_cdc_map_time_to_lsn: the LSN whose tran_end_time stands in a relation to a time.
func (m *Manager) timeToLSN(c *exec.Context, a []value.Value) (value.Value, error) {
	if a[0].IsNull() || a[1].IsNull() {
		return value.NullValue, nil
	}
	var r storage.Range
	key := func(t *storage.Table) []byte { return t.Def().Indexes[1].AppendKey(nil, t.Def(), a[1]) }
	root := rootOf(c)
	t, ok := root.Object(schemaName, timeMapping).(*storage.Table)
	if !ok {
		return value.NullValue, errNotEnabled(c.DB)
	}
	switch strings.ToLower(strings.TrimSpace(a[0].Str())) {
	case "largest less than":
		r = storage.Range{To: key(t), Reverse: true}
	case "largest less than or equal":
		r = storage.Range{To: key(t), ToIncl: true, Reverse: true}
	case "smallest greater than":
		r = storage.Range{From: key(t), FromExcl: true}
	case "smallest greater than or equal":
		r = storage.Range{From: key(t)}
	default:
		return value.NullValue, nil
	}
	row, err := m.firstRow(c.Context(), root, t, 1, r)
	if row == nil || err != nil {
		return value.NullValue, err
	}
	return row.Vals[0], nil
}

// lsnToTime is sys.fn_cdc_map_lsn_to_time.
func (m *Manager) lsnToTime(c *exec.Context, a []value.Value) (value.Value, error) {
	if a[0].IsNull() {
		return value.NullValue, nil
	}
	root := rootOf(c)
	t, ok := root.Object(schemaName, timeMapping).(*storage.Table)
	if !ok {
		return value.NullValue, nil
	}
	row, err := m.firstRow(c.Context(), root, t, 0, storage.Prefix(t.Def().Indexes[0].AppendKey(nil, t.Def(), a[0])))
	if row == nil || err != nil {
		return value.NullValue, err
	}
	return row.Vals[2], nil
}

// columnOrdinal is sys.fn_cdc_get_column_ordinal: NULL for an unknown instance or column.
func (m *Manager) columnOrdinal(c *exec.Context, a []value.Value) (value.Value, error) {
	n, err := m.ordinal(c, a[0], a[1])
	if n == 0 || err != nil {
		return value.NullValue, err
	}
	return value.NewInt(value.Int, int64(n)), nil
}

func (m *Manager) ordinal(c *exec.Context, inst, column value.Value) (int, error) {
	i, err := m.visible(c, inst)
	if i == nil || err != nil || column.IsNull() {
		return 0, err
	}
	for n, col := range i.columns {
		if c.DB.Collation.Compare(col.name, column.Str(), true) == 0 {
			return n + 1, nil
		}
	}
	return 0, nil
}

// isBitSet is sys.fn_cdc_is_bit_set.
func isBitSet(_ *exec.Context, a []value.Value) (value.Value, error) {
	if a[0].IsNull() || a[1].IsNull() {
		return value.NewBit(false), nil
	}
	return value.NewBit(Mask(a[1].Bytes()).Has(int(a[0].Int()))), nil
}

// columnChanged is sys.fn_cdc_has_column_changed.
func (m *Manager) columnChanged(c *exec.Context, a []value.Value) (value.Value, error) {
	n, err := m.ordinal(c, a[0], a[1])
	if n == 0 || err != nil || a[2].IsNull() {
		return value.NewBit(false), err
	}
	return value.NewBit(Mask(a[2].Bytes()).Has(n)), nil
}

// checkParameters is sys.fn_cdc_check_parameters.
func (m *Manager) checkParameters(c *exec.Context, a []value.Value) (value.Value, error) {
	i, err := m.visible(c, a[0])
	if i == nil || err != nil {
		return value.NewBit(false), err
	}
	net := !a[4].IsNull() && a[4].Int() != 0
	_, err = m.window(c, i, a[1], a[2], a[3], net)
	if isNumber(err, 313) {
		return value.NewBit(false), nil
	}
	return value.NewBit(err == nil), err
}

// errWindow is what a server says of an LSN range or an option that a change function does not take: that arguments are
// missing, whatever is wrong.
func errWindow(net bool) error {
	if net {
		return sqlerr.New(313, "cdc.fn_cdc_get_net_changes_ ... ")
	}
	return sqlerr.New(313, "cdc.fn_cdc_get_all_changes_ ... ")
}
