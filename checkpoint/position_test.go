package checkpoint

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The text form is what stores of older versions hold, so it may not change under a version number.
func TestPositionTextIsPinned(t *testing.T) {
	tests := []struct {
		name string
		pos  Position
		want string
	}{
		{"inside a transaction", Position{Instance: `dbo_"é`, LSN: lsn(t, "0x00000025000001a80003"), CommandID: 2, SeqVal: lsn(t, "0x00000025000001a80002"), Operation: 4,
			Proof: Proof{lsn(t, "0x00000025000001a80003"), []byte{0, 0, 0, 0, 8, 0xff}, time.Date(2024, 2, 29, 23, 59, 59, 997_000_000, time.UTC)}},
			`{"v":1,"instance":"dbo_\"é","lsn":"0x00000025000001a80003","command_id":2,"seqval":"0x00000025000001a80002","operation":4,` +
				`"proof":{"start_lsn":"0x00000025000001a80003","tran_id":"0x0000000008ff","end_time":"2024-02-29T23:59:59.997Z"}}`},
		{"done", Position{Instance: "dbo_t", LSN: lsn(t, "0xffffffff00000001abcd"), Done: true}, `{"v":1,"instance":"dbo_t","lsn":"0xffffffff00000001abcd","done":true}`},
		{"inside a snapshot", Position{Instance: "dbo_t", LSN: lsn(t, "0x00000025000001a80003"), Done: true, Snapshot: &Snapshot{ID: "s1", After: `{"k":1}`, Rows: 20000}},
			`{"v":1,"instance":"dbo_t","lsn":"0x00000025000001a80003","done":true,"snapshot":{"id":"s1","after":"{\"k\":1}","rows":20000}}`},
		{"zero values", Position{Instance: "", LSN: lsn(t, "0x00000000000000000001")},
			`{"v":1,"instance":"","lsn":"0x00000000000000000001","command_id":0,"seqval":"0x00000000000000000000","operation":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.pos.String(); got != tt.want {
				t.Errorf("String = %s, want %s", got, tt.want)
			}
			if back, err := ParsePosition(tt.want); err != nil || !back.Equal(tt.pos) {
				t.Errorf("ParsePosition = %+v, %v, want %+v", back, err, tt.pos)
			}
		})
	}
}

func TestPositionTextIsStrict(t *testing.T) {
	const good = `{"v":1,"instance":"i","lsn":"0x00000025000001a80003","command_id":2,"seqval":"0x00000025000001a80002","operation":4}`
	if _, err := ParsePosition(good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":                    ``,
		"not an object":            `"0x00000025000001a80003"`,
		"cut":                      good[:len(good)-1],
		"tail":                     good + `{}`,
		"no version":               `{"instance":"i","lsn":"0x00000025000001a80003","done":true}`,
		"later version":            `{"v":2,"instance":"i","lsn":"0x00000025000001a80003","done":true}`,
		"unknown field":            `{"v":1,"instance":"i","lsn":"0x00000025000001a80003","done":true,"extra":1}`,
		"no LSN":                   `{"v":1,"instance":"i","done":true}`,
		"LSN as number":            `{"v":1,"instance":"i","lsn":37,"done":true}`,
		"neither done nor inside":  `{"v":1,"instance":"i","lsn":"0x00000025000001a80003"}`,
		"done and inside":          good[:len(good)-1] + `,"done":true}`,
		"half inside":              `{"v":1,"instance":"i","lsn":"0x00000025000001a80003","command_id":2}`,
		"operation beyond 32 bits": `{"v":1,"instance":"i","lsn":"0x00000025000001a80003","command_id":2,"seqval":"0x00000025000001a80002","operation":4294967296}`,
	} {
		if p, err := ParsePosition(text); err == nil {
			t.Errorf("%s: ParsePosition(%s) = %s, want an error", name, text, p)
		}
	}
}

func positions() *rapid.Generator[Position] {
	return rapid.Custom(func(t *rapid.T) Position {
		l := func(name string) LSN {
			var l LSN
			l[9], l[0], l[3] = 1+byte(rapid.IntRange(0, 2).Draw(t, name)), byte(rapid.IntRange(0, 1).Draw(t, name))*0x80, byte(rapid.IntRange(0, 255).Draw(t, name))
			return l
		}
		p := Position{Instance: rapid.String().Draw(t, "instance"), LSN: l("lsn"), Done: rapid.Bool().Draw(t, "done")}
		if !p.Done {
			p.CommandID, p.SeqVal, p.Operation = int32(rapid.IntRange(-1, 2).Draw(t, "command")), l("seqval"), int32(rapid.IntRange(1, 4).Draw(t, "operation"))
		}
		if rapid.Bool().Draw(t, "proof") {
			p.Proof = Proof{l("start"), rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "tran"), time.UnixMilli(rapid.Int64Range(-1<<42, 1<<42).Draw(t, "end")).UTC()}
		}
		return p
	})
}

func TestPositionReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := positions().Draw(t, "p")
		back, err := ParsePosition(p.String())
		if err != nil || back.Compare(p) != 0 || back.Proof.StartLSN != p.Proof.StartLSN || !back.Equal(p) && isValidText(p.Instance) {
			t.Errorf("%s reads back as %s, %v", p, back, err)
		}
	})
}

// isValidText leaves out what JSON has no form for.
func isValidText(s string) bool {
	for _, r := range s {
		if r == '\uFFFD' {
			return false
		}
	}
	return true
}

func TestPositionOrder(t *testing.T) {
	a, b := lsn(t, "0x00000025000001a80003"), lsn(t, "0x00000025000001a80004")
	ordered := []Position{
		{},
		{LSN: a, CommandID: 1, SeqVal: b, Operation: 2},
		{LSN: a, CommandID: 2, SeqVal: a, Operation: 4},
		{LSN: a, CommandID: 2, SeqVal: b, Operation: 3},
		{LSN: a, CommandID: 2, SeqVal: b, Operation: 4},
		{LSN: a, Done: true, Snapshot: &Snapshot{ID: "s1"}},
		{LSN: a, Done: true, Snapshot: &Snapshot{ID: "s1", After: "k", Rows: 10}},
		{LSN: a, Done: true},
		{LSN: b, CommandID: 1, SeqVal: a, Operation: 1},
		{LSN: b, Done: true},
	}
	for i, p := range ordered {
		for j, q := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := p.Compare(q); got != want {
				t.Errorf("%s compared with %s = %d, want %d", p, q, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, q, r := positions().Draw(t, "p"), positions().Draw(t, "q"), positions().Draw(t, "r")
		if p.Compare(q) != -q.Compare(p) {
			t.Errorf("%s and %s are not opposite", p, q)
		}
		if p.Compare(q) <= 0 && q.Compare(r) <= 0 && p.Compare(r) > 0 {
			t.Errorf("%s, %s and %s go round", p, q, r)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	f.Add(at(1).String())
	f.Add(`{"v":1,"instance":"i","lsn":"0x00000025000001a80003","command_id":2,"seqval":"0x00000025000001a80002","operation":4}`)
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePosition(s)
		if err != nil {
			return
		}
		if back, err := ParsePosition(p.String()); err != nil || !back.Equal(p) {
			t.Errorf("%s reads back as %s, %v", p, back, err)
		}
	})
}
