package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// opMerge is __$operation of a net change that is an insert or an update (option "all with merge").
const opMerge = 5

// netChange is what became of one row in a window.
type netChange struct {
	first byte // the first operation on the key
	last  byte
	row   []value.Value // the last image
	mask  Mask
}

// netChanges folds change rows, which come in commit order, by key. Keys are in the order of their last change.
type netChanges struct {
	keyAt []int // places of the key columns in a change row
	types []value.Type
	byKey map[string]*netChange
	order []string // keys by their last change; older places of a key are skipped
	last  map[string]int
}

func newNetChanges(keyAt []int, types []value.Type) *netChanges {
	return &netChanges{keyAt: keyAt, types: types, byKey: map[string]*netChange{}, last: map[string]int{}}
}

// add takes one change row; before images only matter through their after images.
func (n *netChanges) add(row []value.Value) {
	op := byte(row[ctOperation].Int())
	if op == storage.OpBefore {
		return
	}
	var key []byte
	for i, at := range n.keyAt {
		key = value.AppendKey(key, row[at], n.types[i], false)
	}
	k := string(key)
	c := n.byKey[k]
	if c == nil {
		c = &netChange{first: op}
		n.byKey[k] = c
	}
	c.last, c.row = op, row
	if mask := Mask(row[ctMask].Bytes()); len(c.mask) == len(mask) {
		c.mask.Or(mask)
	} else {
		c.mask = append(Mask(nil), mask...)
	}
	n.last[k] = len(n.order)
	n.order = append(n.order, k)
}

// operation is the net operation, 0 when the row came and went inside the window.
func (c *netChange) operation() byte {
	existed := c.first != storage.OpInsert
	exists := c.last != storage.OpDelete
	switch {
	case existed && exists:
		return storage.OpAfter
	case existed:
		return storage.OpDelete
	case exists:
		return storage.OpInsert
	}
	return 0
}

// netRows yields the result of the net changes function.
func (f *changeFunction) netRows(c *exec.Context, w window, yield func([]value.Value, error) bool) {
	var at []int
	var types []value.Type
	for _, name := range f.i.key {
		i := columnNamed(c.DB, f.def.Columns[ctCaptured:], name)
		if i < 0 {
			continue
		}
		at = append(at, ctCaptured+i)
		types = append(types, f.def.Columns[ctCaptured+i].Type)
	}
	n := newNetChanges(at, types)
	for row, err := range f.scan(c, w) {
		if err != nil {
			yield(nil, err)
			return
		}
		n.add(row)
	}
	for i, k := range n.order {
		change := n.byKey[k]
		op := change.operation()
		if n.last[k] != i || op == 0 {
			continue
		}
		if !yield(f.netRow(change, op, w.option), nil) {
			return
		}
	}
}

// netRow makes a result row: start_lsn of the last change, operation, mask where it was asked for, the last image.
func (f *changeFunction) netRow(c *netChange, op byte, option string) []value.Value {
	mask := value.NullValue
	switch {
	case option == "all with merge" && op != storage.OpDelete:
		op = opMerge
	case option == "all with mask" && op == storage.OpAfter:
		mask = value.NewVarBinary(c.mask)
	}
	out := []value.Value{c.row[ctStartLSN], value.NewInt(value.Int, int64(op)), mask}
	return append(out, c.row[ctCaptured:ctCaptured+len(f.i.columns)]...)
}
