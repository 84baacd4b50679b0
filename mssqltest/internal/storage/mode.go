package storage

// Mode is a lock mode.
type Mode uint8

// The lock modes; rows have S, U and X only.
const (
	NoMode Mode = iota
	SchS
	IS
	S
	U
	IX
	SIX
	X
	BU // bulk update: loads into a heap beside each other, and nobody else
	SchM
	modeCount
)

var modeNames = [modeCount]string{"NL", "Sch-S", "IS", "S", "U", "IX", "SIX", "X", "BU", "Sch-M"}

// String is the form of sys.dm_tran_locks.request_mode.
func (m Mode) String() string {
	if m < modeCount {
		return modeNames[m]
	}
	return "?"
}

// conflicts has a bit for each mode that cannot be granted beside a mode.
var conflicts = [modeCount]uint16{
	SchS: 1 << SchM,
	IS:   1<<X | 1<<BU | 1<<SchM,
	S:    1<<IX | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
	U:    1<<U | 1<<IX | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
	IX:   1<<S | 1<<U | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
	SIX:  1<<S | 1<<U | 1<<IX | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
	X:    1<<IS | 1<<S | 1<<U | 1<<IX | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
	BU:   1<<IS | 1<<S | 1<<U | 1<<IX | 1<<SIX | 1<<X | 1<<SchM,
	SchM: 1<<SchS | 1<<IS | 1<<S | 1<<U | 1<<IX | 1<<SIX | 1<<X | 1<<BU | 1<<SchM,
}

func compatible(a, b Mode) bool { return conflicts[a]&(1<<b) == 0 }

// join is the weakest mode that gives the rights of both.
func join(a, b Mode) Mode {
	if a > b {
		a, b = b, a
	}
	if b == BU && a > SchS && a < BU {
		return X
	}
	if b == IX && (a == S || a == U) {
		return SIX
	}
	return b
}

// covers says whether holding m makes taking want unnecessary.
func (m Mode) covers(want Mode) bool { return join(m, want) == m }
