package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// memTable is a table variable: no transaction undoes its changes, no lock guards it.
type memTable struct {
	def      *storage.TableDef
	rows     []*storage.Row
	identity int64
	used     bool
}

func newMemTable(def *storage.TableDef) *memTable { return &memTable{def: def} }

func (m *memTable) nextIdentity(p *storage.Identity) int64 {
	if !m.used {
		m.used, m.identity = true, p.Seed
	} else {
		m.identity += p.Increment
	}
	return m.identity
}

// apply makes the changes of one statement, all or none.
func (m *memTable) apply(changes []storage.Change) error {
	gone := map[*storage.Row][]value.Value{}
	var added []*storage.Row
	for _, c := range changes {
		switch {
		case c.Old == nil:
			added = append(added, &storage.Row{Vals: c.New})
		default:
			gone[c.Old] = c.New
		}
	}
	rows := make([]*storage.Row, 0, len(m.rows)+len(added))
	for _, row := range m.rows {
		now, hit := gone[row]
		switch {
		case !hit:
			rows = append(rows, row)
		case now != nil:
			rows = append(rows, &storage.Row{Vals: now})
		}
	}
	rows = append(rows, added...)
	for _, x := range m.def.Indexes {
		if err := m.unique(x, rows); err != nil {
			return err
		}
	}
	m.rows = rows
	return nil
}

func (m *memTable) unique(x *storage.IndexDef, rows []*storage.Row) error {
	if !x.Unique {
		return nil
	}
	seen := make(map[string]bool, len(rows))
	var buf []byte
	for _, row := range rows {
		buf = buf[:0]
		for i := range x.Columns {
			buf = x.AppendColumnKey(buf, m.def, i, row.Vals[x.Columns[i].Column])
		}
		if seen[string(buf)] {
			kind := "UNIQUE KEY"
			if x.PrimaryKey {
				kind = "PRIMARY KEY"
			}
			text := ""
			for i, c := range x.Columns {
				if i > 0 {
					text += ", "
				}
				text += value.Display(row.Vals[c.Column], m.def.Columns[c.Column].Type)
			}
			return sqlerr.New(2627, kind, x.Name, m.def.Name, "("+text+")")
		}
		seen[string(buf)] = true
	}
	return nil
}
