package tds

import "encoding/binary"

// The DONE status bits (2.2.7.6 DONE).
const (
	DoneMore     = 0x0001 // another token follows in this reply
	DoneError    = 0x0002
	DoneInXact   = 0x0004 // a transaction is open
	DoneCount    = 0x0010 // RowCount is valid
	DoneAttn     = 0x0020 // acknowledges an attention
	DoneRPC      = 0x0080 // of a call in a RPC batch
	DoneSrvError = 0x0100 // the statement's results are void; the connection goes
)

// Done is a DONE, DONEPROC or DONEINPROC (2.2.7.6, 2.2.7.7, 2.2.7.8).
type Done struct {
	Token    Token // TokenDone if zero
	Status   uint16
	CurCmd   uint16 // kind of the statement: 0xC1 SELECT, 0xC3 INSERT …
	RowCount uint64
}

// Append writes the token.
func (d *Done) Append(dst []byte) []byte {
	t := d.Token
	if t == 0 {
		t = TokenDone
	}
	dst = binary.LittleEndian.AppendUint16(append(dst, byte(t)), d.Status)
	dst = binary.LittleEndian.AppendUint16(dst, d.CurCmd)
	return binary.LittleEndian.AppendUint64(dst, d.RowCount)
}

// Decode reads what follows the token byte; Token is left as it is.
func (d *Done) Decode(r *Reader) {
	d.Status, d.CurCmd, d.RowCount = r.Uint16(), r.Uint16(), r.Uint64()
}

// More tells whether the reply goes on.
func (d *Done) More() bool { return d.Status&DoneMore != 0 }

// Failed tells whether the statement ended with an error.
func (d *Done) Failed() bool { return d.Status&(DoneError|DoneSrvError) != 0 }

// Count is the number of rows, false if the server did not count them.
func (d *Done) Count() (uint64, bool) { return d.RowCount, d.Status&DoneCount != 0 }
