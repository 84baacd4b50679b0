package cdc

import (
	"encoding/hex"
	"testing"
)

func TestLSNArithmetic(t *testing.T) {
	for _, tc := range []struct{ name, lsn, next string }{
		{"zero", "00000000000000000000", "00000000000000000001"},
		{"inside a byte", "000000250000004800fe", "000000250000004800ff"},
		{"carry of one byte", "000000250000004800ff", "00000025000000480100"},
		{"carry into the block", "0000002500000048ffff", "00000025000000490000"},
		{"carry into the file", "00000025ffffffffffff", "00000026000000000000"},
		{"above 63 bits", "7fffffffffffffffffff", "80000000000000000000"},
		{"the largest wraps", "ffffffffffffffffffff", "00000000000000000000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := incrementLSN(hexLSN(t, tc.lsn)); got != hexLSN(t, tc.next) {
				t.Errorf("increment of %s = %x, want %s", tc.lsn, got, tc.next)
			}
			if got := decrementLSN(hexLSN(t, tc.next)); got != hexLSN(t, tc.lsn) {
				t.Errorf("decrement of %s = %x, want %s", tc.next, got, tc.lsn)
			}
		})
	}
}

func hexLSN(t *testing.T, s string) [10]byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 10 {
		t.Fatalf("%q is no LSN", s)
	}
	return lsnOf(b)
}
