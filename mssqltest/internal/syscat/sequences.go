package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// sequences yields the sequence objects with their counters.
func (s *source) sequences() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range s.cat.Objects() {
			m, ok := o.(*storage.Module)
			if !ok || !s.visible(o) {
				continue
			}
			q, ok := exec.ModuleSequence(m)
			if !ok {
				continue
			}
			num := func(n int64) value.Value {
				t := value.Type{ID: value.BigInt}
				v, err := value.Convert(nil, value.NewInt(value.BigInt, n), t, q.Type, 0)
				if err != nil {
					return value.Value{}
				}
				return value.NewVariant(v, q.Type)
			}
			row := headerRow(&m.ObjectHeader)
			row["start_value"], row["increment"], row["minimum_value"], row["maximum_value"] = num(q.Start), num(q.Increment), num(q.Min), num(q.Max)
			row["is_cycling"], row["is_cached"], row["current_value"], row["is_exhausted"] = q.Cycling, q.Cached, num(q.Current), q.Exhausted
			if q.CacheSize > 0 {
				row["cache_size"] = q.CacheSize
			}
			row["system_type_id"], row["user_type_id"] = int(q.Type.ID), int(q.Type.ID)
			row["precision"], row["scale"] = sysrow.Precision(q.Type), 0
			if !yield(row) {
				return
			}
		}
	}
}
