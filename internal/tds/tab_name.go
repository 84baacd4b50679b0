package tds

// TabName lists the tables that COLINFO refers to, each as name parts (2.2.7.23 TABNAME).
type TabName [][]string

// Append writes the token.
func (t TabName) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenTabName)
	for _, parts := range t {
		dst = appendParts(dst, parts)
	}
	return endBody(dst, at)
}

// Decode reads what follows the token byte.
func (t *TabName) Decode(r *Reader) {
	b := r.body()
	*t = nil
	for b.Len() > 0 {
		*t = append(*t, decodeParts(b))
	}
	r.finish(b, "TABNAME")
}
