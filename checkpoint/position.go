package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// positionVersion is the version of the text form. A change of meaning gets a new one.
const positionVersion = 1

// Position is the last change of a table that is done, and of which capture instance. The fields order changes as their change
// table does. Done says that everything of LSN is done, and the fields between are not set.
type Position struct {
	Instance  string
	LSN       LSN
	CommandID int32
	SeqVal    LSN
	Operation int32
	Done      bool
	Proof     Proof
	// Snapshot says how far the snapshot of the table has come; nil when there is none or it is finished. LSN is then where the
	// stream begins after it, and Done is set.
	Snapshot *Snapshot
	// Signals is what the signals up to here have asked for and is not done yet. Only the position of a signal table has it.
	Signals *Signals
}

// Snapshot is the progress of a table's snapshot: the rows up to a key are done.
type Snapshot struct {
	ID    string `json:"id"`
	After string `json:"after,omitempty"` // text form of the last key that is done; "" before the first row
	Rows  int64  `json:"rows"`            // how many rows that are
}

// Proof is the newest row of cdc.lsn_time_mapping at or below a position. While it is still there and equal, the position belongs
// to the server's history; a restore or a forced failover shows by its absence.
type Proof struct {
	StartLSN LSN
	TranID   []byte
	EndTime  time.Time // as the server has it; its zone plays no part
}

// Compare orders positions of one table: -1 if p is before q. The instance plays no part, since LSNs are the database's.
func (p Position) Compare(q Position) int {
	if c := p.LSN.Compare(q.LSN); c != 0 {
		return c
	}
	if p.Done != q.Done {
		if q.Done {
			return -1
		}
		return 1
	}
	if p.Done {
		return p.Snapshot.compare(q.Snapshot)
	}
	return cmp.Or(cmp.Compare(p.CommandID, q.CommandID), p.SeqVal.Compare(q.SeqVal), cmp.Compare(p.Operation, q.Operation))
}

// compare orders the progress of a snapshot: a finished one, nil, is behind all others.
func (s *Snapshot) compare(t *Snapshot) int {
	switch {
	case s == nil && t == nil:
		return 0
	case s == nil:
		return 1
	case t == nil:
		return -1
	}
	return cmp.Compare(s.Rows, t.Rows)
}

// Equal reports whether all fields are the same, the proof's time as an instant.
func (p Position) Equal(q Position) bool {
	return p.Instance == q.Instance && p.LSN == q.LSN && p.CommandID == q.CommandID && p.SeqVal == q.SeqVal &&
		p.Operation == q.Operation && p.Done == q.Done && p.Proof.Equal(q.Proof) &&
		(p.Snapshot == nil) == (q.Snapshot == nil) && (p.Snapshot == nil || *p.Snapshot == *q.Snapshot) && p.Signals.equal(q.Signals)
}

// IsZero reports whether there is a place at all.
func (p Position) IsZero() bool { return p.LSN.IsZero() }

// Equal reports whether p and q are the same row.
func (p Proof) Equal(q Proof) bool {
	return p.StartLSN == q.StartLSN && bytes.Equal(p.TranID, q.TranID) && p.EndTime.Equal(q.EndTime)
}

// IsZero reports whether there is no proof.
func (p Proof) IsZero() bool { return p.StartLSN.IsZero() }

// positionText is the text form.
type positionText struct {
	Version   int        `json:"v"`
	Instance  string     `json:"instance"`
	LSN       LSN        `json:"lsn"`
	CommandID *int32     `json:"command_id,omitempty"`
	SeqVal    *LSN       `json:"seqval,omitempty"`
	Operation *int32     `json:"operation,omitempty"`
	Done      bool       `json:"done,omitempty"`
	Proof     *proofText `json:"proof,omitempty"`
	Snapshot  *Snapshot  `json:"snapshot,omitempty"`
	Signals   *Signals   `json:"signals,omitempty"`
}

type proofText struct {
	StartLSN LSN       `json:"start_lsn"`
	TranID   hexText   `json:"tran_id"`
	EndTime  time.Time `json:"end_time"`
}

// hexText is bytes as 0x and hexadecimal digits.
type hexText []byte

func (h hexText) MarshalText() ([]byte, error) {
	return hex.AppendEncode([]byte("0x"), h), nil
}

func (h *hexText) UnmarshalText(b []byte) error {
	digits, ok := bytes.CutPrefix(b, []byte("0x"))
	if !ok {
		return fmt.Errorf("parsing bytes %q: they do not begin with 0x", b)
	}
	v := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(v, digits); err != nil {
		return fmt.Errorf("parsing bytes %q: %w", b, err)
	}
	*h = v
	return nil
}

// MarshalJSON gives the text form: one JSON object with its version, LSNs and bytes in hexadecimal.
func (p Position) MarshalJSON() ([]byte, error) {
	t := positionText{Version: positionVersion, Instance: p.Instance, LSN: p.LSN, Done: p.Done, Snapshot: p.Snapshot, Signals: p.Signals}
	if !p.Done {
		t.CommandID, t.SeqVal, t.Operation = &p.CommandID, &p.SeqVal, &p.Operation
	}
	if !p.Proof.IsZero() {
		t.Proof = &proofText{p.Proof.StartLSN, p.Proof.TranID, p.Proof.EndTime.UTC()}
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads the text form. Another version, an unknown field or a missing one is an error: a position that is half
// understood would skip changes.
func (p *Position) UnmarshalJSON(b []byte) error {
	var version struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return fmt.Errorf("reading a position: %w", err)
	}
	if version.Version != positionVersion {
		return fmt.Errorf("reading a position: version %d is not known, only %d", version.Version, positionVersion)
	}
	var t positionText
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("reading a position: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("reading a position: something follows the object")
	}
	if t.LSN.IsZero() {
		return errors.New("reading a position: lsn is missing")
	}
	if t.Snapshot != nil && (!t.Done || t.Snapshot.ID == "" || t.Snapshot.Rows < 0) {
		return errors.New("reading a position: a snapshot needs an id and stands on a whole LSN")
	}
	if err := t.Signals.check(); err != nil {
		return fmt.Errorf("reading a position: %w", err)
	}
	q := Position{Instance: t.Instance, LSN: t.LSN, Done: t.Done, Snapshot: t.Snapshot, Signals: t.Signals}
	inside := t.CommandID != nil && t.SeqVal != nil && t.Operation != nil
	if inside == t.Done || !inside && (t.CommandID != nil || t.SeqVal != nil || t.Operation != nil) {
		return errors.New("reading a position: it needs either done or command_id, seqval and operation")
	}
	if inside {
		q.CommandID, q.SeqVal, q.Operation = *t.CommandID, *t.SeqVal, *t.Operation
	}
	if t.Proof != nil {
		q.Proof = Proof{t.Proof.StartLSN, t.Proof.TranID, t.Proof.EndTime}
	}
	*p = q
	return nil
}

// String is the text form.
func (p Position) String() string {
	b, err := p.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ParsePosition reads the text form.
func ParsePosition(s string) (Position, error) {
	var p Position
	err := p.UnmarshalJSON([]byte(s))
	return p, err
}
