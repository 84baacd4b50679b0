package cdc

// An LSN as the functions see it is an 80-bit unsigned number in big-endian bytes (binary(10)).

// incrementLSN returns lsn + 1 (sys.fn_cdc_increment_lsn). The largest LSN wraps to zero.
func incrementLSN(lsn [10]byte) [10]byte {
	for i := len(lsn) - 1; i >= 0; i-- {
		lsn[i]++
		if lsn[i] != 0 {
			break
		}
	}
	return lsn
}

// decrementLSN returns lsn - 1 (sys.fn_cdc_decrement_lsn). Zero wraps to the largest LSN.
func decrementLSN(lsn [10]byte) [10]byte {
	for i := len(lsn) - 1; i >= 0; i-- {
		lsn[i]--
		if lsn[i] != 0xFF {
			break
		}
	}
	return lsn
}

// lsnOf makes an LSN of the bytes of a binary or varbinary value, which are cut or padded at the right to ten as the
// conversion to binary(10) does.
func lsnOf(b []byte) (lsn [10]byte) {
	copy(lsn[:], b)
	return lsn
}
