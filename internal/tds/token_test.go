package tds

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

// tokenCases holds each token's bytes and what they mean.
var tokenCases = []struct {
	name  string
	token interface{ Append([]byte) []byte }
	got   func(*TokenReader) any
	wire  string
}{
	{"done", &Done{Token: TokenDone, Status: DoneCount, CurCmd: 0xC1, RowCount: 5}, func(t *TokenReader) any { return &t.Done }, "fd 1000 c100 0500000000000000"},
	{"doneproc", &Done{Token: TokenDoneProc, Status: DoneMore}, func(t *TokenReader) any { return &t.Done }, "fe 0100 0000 0000000000000000"},
	{"doneinproc", &Done{Token: TokenDoneInProc, Status: DoneMore | DoneError}, func(t *TokenReader) any { return &t.Done }, "ff 0300 0000 0000000000000000"},
	{"error", &ServerMessage{Number: 1205, State: 13, Class: 13, Message: "no", Server: "s", Proc: "p", Line: 2}, func(t *TokenReader) any { return &t.Message },
		"aa 1600 b5040000 0d 0d 0200 6e006f00 01 7300 01 7000 02000000"},
	{"info", &ServerMessage{Info: true, Number: 5701, State: 2, Line: 1}, func(t *TokenReader) any { return &t.Message }, "ab 0e00 45160000 02 00 0000 00 00 01000000"},
	{"database", &EnvChange{Type: EnvDatabase, New: "ab", Old: "m"}, func(t *TokenReader) any { return &t.Env }, "e3 0900 01 02 61006200 01 6d00"},
	{"packet size", &EnvChange{Type: EnvPacketSize, New: "8000", Old: "4096"}, func(t *TokenReader) any { return &t.Env }, "e3 1300 04 04 3800300030003000 04 3400300039003600"},
	{"collation", &EnvChange{Type: EnvCollation, NewBytes: DefaultCollation[:], OldBytes: []byte{}}, func(t *TokenReader) any { return &t.Env }, "e3 0800 07 05 0904d00034 00"},
	{"begin", &EnvChange{Type: EnvBeginTran, NewBytes: []byte{1, 0, 0, 0, 0, 0, 0, 0}, OldBytes: []byte{}}, func(t *TokenReader) any { return &t.Env }, "e3 0b00 08 08 0100000000000000 00"},
	{"commit", &EnvChange{Type: EnvCommitTran, NewBytes: []byte{}, OldBytes: []byte{1, 0, 0, 0, 0, 0, 0, 0}}, func(t *TokenReader) any { return &t.Env }, "e3 0b00 09 00 08 0100000000000000"},
	{"routing", &EnvChange{Type: EnvRouting, Routing: &Routing{Port: 1433, Server: "ab"}}, func(t *TokenReader) any { return &t.Env }, "e3 0e00 14 0900 00 9905 0200 61006200 0000"},
	{"promote", &EnvChange{Type: EnvPromoteTran, NewBytes: []byte{1, 2}, OldBytes: []byte{}}, func(t *TokenReader) any { return &t.Env }, "e3 0800 0f 02000000 0102 00"},
	{"enhanced routing", &EnvChange{Type: EnvEnhancedRouting, NewBytes: []byte{1, 2}, OldBytes: []byte{}}, func(t *TokenReader) any { return &t.Env }, "e3 0700 15 0200 0102 0000"},
	{"reset", &EnvChange{Type: EnvResetConnDone, NewBytes: []byte{}, OldBytes: []byte{}}, func(t *TokenReader) any { return &t.Env }, "e3 0300 12 00 00"},
	{"loginack", &LoginAck{Interface: 1, TDSVersion: Version74, Program: "ab", Version: [4]byte{16, 0, 3, 232}}, func(t *TokenReader) any { return &t.LoginAck }, "ad 0e00 01 74000004 02 61006200 100003e8"},
	{"returnstatus", ReturnStatus(-4), func(t *TokenReader) any { return t.ReturnStatus }, "79 fcffffff"},
	{"returnvalue", &ReturnValue{Ordinal: 1, Name: "@a", Status: ReturnOutput, Info: Nullable(TypeIntN, 4), Value: []byte{7, 0, 0, 0}}, func(t *TokenReader) any { return &t.ReturnValue },
		"ac 0100 02 40006100 01 00000000 0000 26 04 04 07000000"},
	{"returnvalue null", &ReturnValue{Status: ReturnUDF, Info: nvarcharMax}, func(t *TokenReader) any { return &t.ReturnValue }, "ac 0000 00 02 00000000 0000 e7 ffff 0904d00034 ffffffffffffffff"},
	{"order", Order{1, 3}, func(t *TokenReader) any { return t.Order }, "a9 0400 0100 0300"},
	{"featureextack", FeatureExtAck{{FeatureUTF8Support, []byte{1}}}, func(t *TokenReader) any { return t.Features }, "ae 0a 01000000 01 ff"},
	{"tabname", TabName{{"dbo", "t"}}, func(t *TokenReader) any { return t.TabName }, "a4 0d00 02 0300 640062006f00 0100 7400"},
	{"colinfo", ColInfos{{1, 1, ColInfoKey, ""}, {2, 1, ColInfoDifferentName, "x"}}, func(t *TokenReader) any { return t.ColInfo }, "a5 0900 01 01 08 02 01 20 01 7800"},
	{"sspi", SSPI{1, 2}, func(t *TokenReader) any { return t.SSPI }, "ed 0200 0102"},
	{"sessionstate", &SessionState{Sequence: 1, Status: 1, Values: []StateValue{{9, []byte{1}}}}, func(t *TokenReader) any { return &t.SessionState }, "e4 08000000 01000000 01 09 01 01"},
	{"fedauthinfo", FedAuthInfo{{FedAuthSPN, []byte("s\x00")}, {FedAuthSTSURL, []byte("u\x00")}}, func(t *TokenReader) any { return t.FedAuthInfo },
		"ee 1a000000 02000000 02 02000000 16000000 01 02000000 18000000 7300 7500"},
	{"offset", &Offset{1, 2}, func(t *TokenReader) any { return &t.Offset }, "78 0100 0200"},
	{"colmetadata", &ColMetaData{Columns: []ColumnMeta{
		{Flags: ColumnNullable | ColumnUpdatableUnsure, Info: Nullable(TypeIntN, 4), Name: "a"},
		{Info: Nullable(TypeImage, 0x7FFFFFFF), Table: []string{"dbo", "t"}, Name: ""},
	}}, func(t *TokenReader) any { return t.Columns },
		"81 0200 00000000 0900 26 04 01 6100  00000000 0000 22 ffffff7f 02 0300 640062006f00 0100 7400 00"},
	{"colmetadata without columns", &ColMetaData{Columns: []ColumnMeta{}}, func(t *TokenReader) any { return t.Columns }, "81 0000"},
}

func TestTokenGolden(t *testing.T) {
	for _, c := range tokenCases {
		t.Run(c.name, func(t *testing.T) {
			checkHex(t, "encoded", c.token.Append(nil), c.wire)
			tr, err := readToken(unhex(t, c.wire))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.got(tr); !reflect.DeepEqual(got, any(c.token)) {
				t.Errorf("decoded %+v, want %+v", got, c.token)
			}
			everyPrefix(t, unhex(t, c.wire), func(b []byte) error { _, err := readToken(b); return err })
		})
	}
}

func TestTokenRefusals(t *testing.T) {
	for name, wire := range map[string]string{
		"unknown token":              "01",
		"ALTMETADATA":                "88 0000",
		"error with bytes behind":    "ab 0f00 45160000 02 00 0000 00 00 01000000 00",
		"order of odd length":        "a9 0300 010003",
		"fedauth option outside":     "ee 0d000000 01000000 02 02000000 16000000",
		"fedauth options overlap":    "ee 18000000 02000000 02 14000000 00000000 01 14000000 00000000 7300",
		"row without columns":        "d1 00",
		"columns left out":           "81 ffff",
		"encrypted column":           "81 0100 00000000 0008 38 00",
		"token over the limit":       "e4 ffffffff 00",
		"feature over the limit":     "ae 0a ffffffff 00",
		"fedauth over the limit":     "ee ffffff7f 00",
		"text pointer, wrong length": "81 0100 00000000 0000 22 ffffff7f 00 00 d1 10 ffffffffffffffffffffffffffffffff ffffffffffffffff ffffffff",
	} {
		t.Run(name, func(t *testing.T) {
			tr := NewTokenReader(bytesReader(unhex(t, wire)), Limits{})
			var err error
			for err == nil {
				_, err = tr.Next()
			}
			if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error: %v", err)
			}
			if _, again := tr.Next(); again == nil || again == io.EOF {
				t.Errorf("the reader goes on after %v with %v", err, again)
			}
		})
	}
}

func TestDoneValues(t *testing.T) {
	d := Done{Status: DoneMore | DoneCount, RowCount: 3}
	if n, ok := d.Count(); !d.More() || d.Failed() || n != 3 || !ok {
		t.Errorf("%+v", d)
	}
	d = Done{Status: DoneSrvError, RowCount: 3}
	if _, ok := d.Count(); d.More() || !d.Failed() || ok {
		t.Errorf("%+v", d)
	}
}

func TestFindFeature(t *testing.T) {
	a := FeatureExtAck{{FeatureUTF8Support, []byte{1}}}
	if data, ok := a.Find(FeatureUTF8Support); !ok || len(data) != 1 {
		t.Errorf("%x %t", data, ok)
	}
	if _, ok := a.Find(FeatureFedAuth); ok {
		t.Error("a feature that is not there")
	}
}

// TestTokenReaderReset reads a second reply, which may not use the columns of the first.
func TestTokenReaderReset(t *testing.T) {
	tr := NewTokenReader(bytes.NewReader(unhex(t, "81 0100 00000000 0000 30 00 d1 01 d1")), Limits{})
	var err error
	for err == nil {
		_, err = tr.Next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	tr.Reset(bytes.NewReader(unhex(t, "79 01000000 d1 01")))
	if kind, err := tr.Next(); err != nil || kind != TokenReturnStatus || tr.ReturnStatus != 1 {
		t.Errorf("%v %v %v", kind, tr.ReturnStatus, err)
	}
	if _, err := tr.Next(); !errors.Is(err, ErrNoColumns) {
		t.Errorf("row of an earlier reply's columns: %v", err)
	}
}

func TestCEKTable(t *testing.T) {
	for wire, legal := range map[string]bool{
		"81 0100 0000 00000000 0000 38 00": true,
		"81 0100 0100 00000000 0000 38 00": false,
	} {
		tr := NewTokenReader(bytes.NewReader(unhex(t, wire)), Limits{})
		tr.CEKTable = true
		if _, err := tr.Next(); (err == nil) != legal {
			t.Errorf("%s: %v", wire, err)
		}
	}
}

func TestEnvChangeValues(t *testing.T) {
	begin, end := EnvTransaction(EnvBeginTran, 7), EnvTransaction(EnvTranEnded, 8)
	if begin.Transaction() != 7 || len(begin.OldBytes) != 0 || end.Transaction() != 8 || len(end.NewBytes) != 0 {
		t.Errorf("%+v %+v", begin, end)
	}
	for text, want := range map[string]int{"4096": 4096, "511": 0, "32768": 0, "x": 0, "": 0} {
		e := EnvChange{Type: EnvPacketSize, New: text}
		if got := e.PacketSize(); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	var e EnvChange
	if e.Transaction() != 0 {
		t.Error("no descriptor, yet one")
	}
	r := NewReader(unhex(t, "0400 63 010203"))
	if e.Decode(r); r.Err() != nil || e.Type != 99 || len(e.NewBytes) != 3 {
		t.Errorf("an unknown kind must be skipped: %+v, %v", e, r.Err())
	}
}

func TestLongServerMessage(t *testing.T) {
	m := ServerMessage{Number: 50000, Class: 16, Message: string(bytes.Repeat([]byte("é"), 40_000)), Server: "s"}
	tr, err := readToken(m.Append(nil))
	if err != nil || UTF16Len(tr.Message.Message) != maxMessageUnits || tr.Message.Server != "s" {
		t.Errorf("%d units, %v", UTF16Len(tr.Message.Message), err)
	}
}

func TestSessionStateLongValue(t *testing.T) {
	s := SessionState{Values: []StateValue{{1, make([]byte, 300)}, {2, []byte{}}}}
	tr, err := readToken(s.Append(nil))
	if err != nil || !reflect.DeepEqual(tr.SessionState, s) {
		t.Errorf("%+v, %v", tr.SessionState, err)
	}
}
