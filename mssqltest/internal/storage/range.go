package storage

// Range selects the keys from From (inclusive) to To (exclusive) of an index. Both are encoded key columns; a bound that
// has only the first columns stands for all keys that begin with it: FromExcl leaves out, and ToIncl takes in, all
// continuations. A nil bound is open.
type Range struct {
	From, To []byte
	FromExcl bool
	ToIncl   bool
	Reverse  bool
}

// Prefix selects the keys that begin with p; an empty p selects all.
func Prefix(p []byte) Range {
	if len(p) == 0 {
		return Range{}
	}
	return Range{From: p, To: p, ToIncl: true}
}

// bounds are lo (inclusive) and hi (exclusive); open says that hi has no limit.
func (r Range) bounds() (lo, hi string, open, empty bool) {
	open = r.To == nil
	if !open {
		to := r.To
		if r.ToIncl {
			to, open = successor(r.To)
		}
		hi = string(to)
	}
	from := r.From
	if r.FromExcl && r.From != nil {
		next, none := successor(r.From)
		if none {
			return "", "", false, true
		}
		from = next
	}
	return string(from), hi, open, false
}

// successor is the smallest key above all keys that begin with p; none says that there is no such key.
func successor(p []byte) (key []byte, none bool) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			key = append([]byte(nil), p[:i+1]...)
			key[i]++
			return key, false
		}
	}
	return nil, true
}
