package mssqlcdc

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// distinct tells whether no two rows of a job have one key, as far as that can be seen without the server: for keys of one integer.
// Text is compared in the collation of the table, which only the server can do.
func (j *bulkJob) distinct() bool {
	key := j.table.changes.stage.Key().Columns
	if len(key) != 1 {
		return false
	}
	rows := 0
	for _, p := range j.parts {
		rows += int(p.record.NumRows())
	}
	keys := keySet{rows: rows}
	for _, p := range j.parts {
		at := p.record.Schema().FieldIndices(j.table.target.Columns[key[0]].Name)
		if len(at) != 1 || !keys.add(p.record.Column(at[0])) {
			return false
		}
	}
	return true
}

// keySet are the integers that were seen: a set once they do not ascend.
type keySet struct {
	rows  int
	some  bool
	last  int64
	seen  map[int64]struct{}
	order []int64
}

// add takes the values of an array, and tells whether all were new.
func (k *keySet) add(a arrow.Array) bool {
	if a.NullN() > 0 {
		return false
	}
	switch a := a.(type) {
	case *array.Int64:
		return addKeys(k, a.Int64Values())
	case *array.Int32:
		return addKeys(k, a.Int32Values())
	case *array.Int16:
		return addKeys(k, a.Int16Values())
	case *array.Uint8:
		return addKeys(k, a.Uint8Values())
	}
	return false
}

func addKeys[T int64 | int32 | int16 | uint8](k *keySet, values []T) bool {
	for _, v := range values {
		if !k.one(int64(v)) {
			return false
		}
	}
	return true
}

func (k *keySet) one(v int64) bool {
	if k.seen == nil {
		if !k.some || v > k.last {
			k.some, k.last = true, v
			k.order = append(k.order, v)
			return true
		}
		k.seen = make(map[int64]struct{}, k.rows)
		for _, o := range k.order {
			k.seen[o] = struct{}{}
		}
	}
	if _, twice := k.seen[v]; twice {
		return false
	}
	k.seen[v] = struct{}{}
	return true
}
