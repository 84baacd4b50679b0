package tds

// The COLINFO status bits.
const (
	ColInfoExpression    = 0x04
	ColInfoKey           = 0x08
	ColInfoHidden        = 0x10
	ColInfoDifferentName = 0x20 // Name is the base column's
)

// ColInfo describes one column of a result for browse mode.
type ColInfo struct {
	Column uint8
	Table  uint8 // from 1, in TABNAME; 0 for expressions
	Status uint8
	Name   string // with ColInfoDifferentName
}

// ColInfos is a COLINFO (2.2.7.3 COLINFO).
type ColInfos []ColInfo

// Append writes the token.
func (c ColInfos) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenColInfo)
	for _, i := range c {
		dst = append(dst, i.Column, i.Table, i.Status)
		if i.Status&ColInfoDifferentName != 0 {
			dst = appendBText(dst, i.Name)
		}
	}
	return endBody(dst, at)
}

// Decode reads what follows the token byte.
func (c *ColInfos) Decode(r *Reader) {
	b := r.body()
	*c = nil
	for b.Len() > 0 {
		i := ColInfo{Column: b.Uint8(), Table: b.Uint8(), Status: b.Uint8()}
		if i.Status&ColInfoDifferentName != 0 {
			i.Name = b.BText()
		}
		*c = append(*c, i)
	}
	r.finish(b, "COLINFO")
}
