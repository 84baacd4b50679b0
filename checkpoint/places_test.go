package checkpoint

import "encoding/binary"

// at makes the n-th position.
func at(n int) Position {
	var l LSN
	binary.BigEndian.PutUint64(l[2:], uint64(n))
	return Position{Instance: "i", LSN: l, Done: true}
}
