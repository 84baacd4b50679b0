package body

import "errors"

var (
	errNullValue = errors.New("the value is null, and the column is NOT NULL")
	errNoKey     = errors.New("the message has no value for it, and it is a column of the key")
	errNullKey   = errors.New("the value is null, and it is a column of the key")
)

// Unchanged says which columns the rows that follow do not have, whatever they say of them. Names without a column mean nothing.
func (d *Decoder) Unchanged(names []string) {
	d.except.Reset()
	for _, name := range names {
		if i := d.find(len(d.columns), []byte(name)); i >= 0 {
			d.except.Add(i)
		}
	}
}

// partial is whole for rows that may leave columns out.
func (d *Decoder) partial() error {
	for i := range d.columns {
		c := &d.columns[i]
		if c.Ignored {
			continue
		}
		v := &d.row[i]
		switch given := d.given.Has(i); {
		case c.Key && !given:
			return d.cellError(i, errNoKey)
		case c.Key && v.null:
			return d.cellError(i, errNullKey)
		case !loadable(d.kinds[i]) || d.except.Has(i) && !c.Key:
			d.given.Remove(i)
			*v = cellValue{null: true}
		case !given:
			*v = cellValue{null: true}
		case v.null && !c.Type.Nullable:
			return d.cellError(i, errNullValue)
		}
	}
	return nil
}

// known are the columns that the row has, nil for all.
func (d *Decoder) known() Set {
	for i := range d.columns {
		if !d.columns[i].Ignored && loadable(d.kinds[i]) && !d.given.Has(i) {
			return append(Set{}, d.given...)
		}
	}
	return nil
}
