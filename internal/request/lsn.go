package request

import (
	"database/sql/driver"
	"fmt"

	"example.com/mssqlcdc/checkpoint"
)

// LSN reads a binary(10) cell; NULL is the zero LSN.
func LSN(v driver.Value) (checkpoint.LSN, error) {
	switch v := v.(type) {
	case nil:
		return checkpoint.LSN{}, nil
	case []byte:
		return checkpoint.LSNFromBytes(v)
	}
	return checkpoint.LSN{}, fmt.Errorf("reading an LSN: the driver gave a %T", v)
}

// Before is the largest LSN below l, and zero for zero.
func Before(l checkpoint.LSN) checkpoint.LSN {
	if l.IsZero() {
		return l
	}
	for i := len(l) - 1; i >= 0; i-- {
		l[i]--
		if l[i] != 0xff {
			break
		}
	}
	return l
}
