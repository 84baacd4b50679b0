package tds

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestPreloginGolden(t *testing.T) {
	// The worked example of the specification: five options of a client (4.1 Pre-Login Request).
	wire := "00 001a 0006  01 0020 0001  02 0021 0001  03 0022 0004  04 0026 0001  ff" +
		"09 00 0000 0000  01  00  b80d0000  01"
	p := Prelogin{
		Version: PreloginVersion{Major: 9}, Encryption: EncryptOn, HasEncryption: true,
		Instance: []byte{0}, ThreadID: unhex(t, "b80d0000"), MARS: []byte{1},
	}
	checkHex(t, "encoded", p.Append(nil), wire)
	got, err := ParsePrelogin(unhex(t, wire))
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v, %v; want %+v", got, err, p)
	}
	everyPrefix(t, unhex(t, wire), func(b []byte) error { _, err := ParsePrelogin(b); return err })
}

func TestPreloginAllOptions(t *testing.T) {
	p := Prelogin{
		Version: PreloginVersion{16, 0, 1000, 6}, Encryption: EncryptNotSupported, HasEncryption: true,
		Instance: []byte("MSSQLServer\x00"), ThreadID: []byte{}, MARS: []byte{0}, TraceID: make([]byte, 36), FedAuth: []byte{1},
		Nonce: make([]byte, 32), Other: []PreloginOption{{0x20, []byte("new")}},
	}
	got, err := ParsePrelogin(p.Append(nil))
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v, %v; want %+v", got, err, p)
	}
	for name, wire := range map[string]string{
		"no options":            "ff",
		"VERSION not first":     "01 0006 0001 ff 00",
		"VERSION twice":         "00 000b 0006 00 000b 0006 ff 100003e80000",
		"VERSION of five bytes": "00 0006 0005 ff 100003e800",
		"ENCRYPTION of 2 bytes": "00 000b 0006 01 0011 0002 ff 100003e80000 0000",
		"offset outside":        "00 ffff 0006 ff 100003e80000",
	} {
		if _, err := ParsePrelogin(unhex(t, wire)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLogin7Golden(t *testing.T) {
	l := Login7{
		TDSVersion: Version74, PacketSize: 4096, ProgVersion: 7, PID: 256, OptionFlags1: 0xE0, OptionFlags2: 3,
		OptionFlags3: Login7UnknownCollated, TimeZone: -120, LCID: 0x0409, HostName: "h", UserName: "sa", Password: "p",
		Database: "d", ClientID: [6]byte{1, 2, 3, 4, 5, 6},
	}
	wire := "68000000 04000074 00100000 07000000 00010000 00000000 e0 03 00 08 88ffffff 09040000" +
		"5e00 0100  6000 0200  6400 0100  6600 0000  6600 0000  6600 0000  6600 0000  6600 0000  6600 0100" +
		"010203040506  6800 0000  6800 0000  6800 0000  00000000" +
		"6800 73006100 a2a5 6400"
	checkHex(t, "encoded", l.Append(nil), wire)
	got, err := ParseLogin7(unhex(t, wire))
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("got %+v, %v; want %+v", got, err, l)
	}
	everyPrefix(t, unhex(t, wire), func(b []byte) error { _, err := ParseLogin7(b); return err })
}

func TestLogin7Full(t *testing.T) {
	l := Login7{
		TDSVersion: Version80, PacketSize: 8000, TypeFlags: Login7ReadOnlyIntent, OptionFlags3: Login7Extension,
		HostName: "host", UserName: "üser", Password: "pässwörd😀", AppName: "app", ServerName: "srv,1433", LibraryName: "lib",
		Language: "us_english", Database: "testdb", SSPI: []byte{1, 2, 3}, AttachFile: `C:\x.mdf`, NewPassword: "new",
		Features: []Feature{{FeatureUTF8Support, []byte{1}}, {FeatureSessionRecovery, make([]byte, 300)}},
	}
	got, err := ParseLogin7(l.Append(nil))
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("got %+v, %v; want %+v", got, err, l)
	}
	if bytes.Contains(l.Append(nil), AppendUTF16(nil, l.Password)) {
		t.Error("the password is in clear")
	}
	l.SSPI = make([]byte, 70_000)
	if got, err := ParseLogin7(l.Append(nil)); err != nil || len(got.SSPI) != 70_000 {
		t.Errorf("long SSPI: %d bytes, %v", len(got.SSPI), err)
	}
	l.SSPI, l.UserName = nil, strings.Repeat("x", 200)
	if got, err := ParseLogin7(l.Append(nil)); err != nil || len(got.UserName) != 128 {
		t.Errorf("long user name: %q, %v", got.UserName, err)
	}
	b := l.Append(nil)
	everyPrefix(t, b, func(b []byte) error { _, err := ParseLogin7(b); return err })
	b[36], b[37] = 1, 0 // the host name inside the fixed part
	if _, err := ParseLogin7(b); !errors.Is(err, ErrMalformed) || strings.Contains(err.Error(), "new") {
		t.Errorf("offset into the fixed part: %v", err)
	}
}

func TestSQLBatchGolden(t *testing.T) {
	// The headers are those of the specification's example (4.6 SQL Batch Client Request).
	wire := "16000000 12000000 0200 0000000000000000 01000000  73006500 6c00"
	b := SQLBatch{Headers: AllHeaders{Outstanding: 1}, Text: "sel"}
	checkHex(t, "encoded", b.Append(nil), wire)
	got, err := ParseSQLBatch(unhex(t, wire))
	if err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, wire := range map[string]string{
		"odd text": "16000000 12000000 0200 0000000000000000 01000000 73", "headers of 3 bytes": "03000000",
		"headers too long": "ff000000 12000000", "header of 5 bytes": "09000000 05000000 02",
		"descriptor too short": "15000000 11000000 0200 0000000000000000 010000",
	} {
		if _, err := ParseSQLBatch(unhex(t, wire)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAllHeaders(t *testing.T) {
	h := AllHeaders{Transaction: 0x0102030405060708, Outstanding: 2, Activity: make([]byte, 20), Notifications: []byte{1, 2}}
	var got AllHeaders
	r := NewReader(h.Append(nil))
	got.Decode(r)
	if r.Err() != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("got %+v, %v", got, r.Err())
	}
	everyPrefix(t, h.Append(nil), func(b []byte) error {
		r := NewReader(b)
		new(AllHeaders).Decode(r)
		return r.Err()
	})
	// A header of an unknown type is skipped, no headers at all are legal.
	for _, wire := range []string{"0c000000 08000000 0900 0102", "04000000"} {
		r = NewReader(unhex(t, wire))
		if got.Decode(r); r.Err() != nil || r.Len() != 0 {
			t.Errorf("%s: %v", wire, r.Err())
		}
	}
}

const headersHex = "16000000 12000000 0200 0000000000000000 01000000"

func TestRPCGolden(t *testing.T) {
	wire := headersHex +
		"ffff 0a00 0000  00 00 e7 401f 0904d00034 0200 7800  02 4000 6100 01 26 04 04 01000000" +
		"ff  0300 610062006300 0200  02 4000 7800 02 26 04 00"
	q := RPCRequest{
		Headers: AllHeaders{Outstanding: 1},
		Calls: []RPCCall{
			{ProcID: ProcExecuteSQL, Params: []RPCParam{
				{Info: CharType(TypeNVarChar, 8000, DefaultCollation), Value: []byte("x\x00")},
				{Name: "@a", Status: ParamByRef, Info: Nullable(TypeIntN, 4), Value: []byte{1, 0, 0, 0}},
			}},
			{Name: "abc", Options: RPCNoMetaData, Params: []RPCParam{{Name: "@x", Status: ParamDefault, Info: Nullable(TypeIntN, 4)}}},
		},
	}
	checkHex(t, "encoded", q.Append(nil), wire)
	got, err := ParseRPC(unhex(t, wire))
	if err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("got %+v, %v; want %+v", got, err, q)
	}
}

func TestRPCForms(t *testing.T) {
	text := CharType(TypeNText, 0x7FFFFFFE, DefaultCollation)
	long := "@" + strings.Repeat("n", 127)
	udt := TypeInfo{Type: TypeUDT, UDT: &UDTInfo{Database: "d", Schema: "s", Name: "t"}}
	q := RPCRequest{Headers: AllHeaders{Outstanding: 1}, Calls: []RPCCall{
		{Name: "sp_a", NoExec: true},
		{Name: "sp_b", Params: []RPCParam{
			{Name: "@t", Info: text, Value: []byte("h\x00")}, {Info: text}, {Name: long, Info: Fixed(TypeInt4), Value: []byte{1, 2, 3, 4}},
			{Info: nvarcharMax, Value: []byte("h\x00")}, {Info: udt, Value: []byte{1}}, {Info: Nullable(TypeSSVariant, VariantSize), Value: []byte{0x30, 0, 1}},
		}},
	}}
	got, err := ParseRPC(q.Append(nil))
	if err != nil || !reflect.DeepEqual(got, q) {
		t.Errorf("got %+v, %v; want %+v", got, err, q)
	}
	// Text in chunks of unknown length, then the legacy separator, then a separator at the end.
	wire := headersHex + "ffff 0c00 0000  00 00 e7 ffff 0904d00034 feffffffffffffff 02000000 6800 02000000 6900 00000000 80 ffff 0f00 0000 ff"
	got, err = ParseRPC(unhex(t, wire))
	if err != nil || len(got.Calls) != 2 || string(got.Calls[0].Params[0].Value) != "h\x00i\x00" || got.Calls[1].ProcID != ProcUnprepare {
		t.Errorf("got %+v, %v", got, err)
	}
	if ProcName(ProcPrepExec) != "sp_prepexec" || ProcName(99) != "" || ProcName(0) != "" {
		t.Error("names of numbered procedures")
	}
	for name, rest := range map[string]string{
		"no name": "0000 0000", "encrypted": "ffff 0a00 0000 00 08 26 04 00", "table-valued": "ffff 0a00 0000 00 00 f3 00 00 00",
		"nothing": "",
	} {
		if _, err := ParseRPC(unhex(t, headersHex+rest)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	one := RPCRequest{Calls: []RPCCall{{Name: "abc", Params: []RPCParam{{Name: "@x", Info: Nullable(TypeIntN, 4), Value: []byte{1, 2, 3, 4}}}}}}
	b := one.Append(nil)
	whole := len(one.Headers.Append(nil)) + 2 + 6 + 2 // a call without its parameters is legal as well
	everyPrefix(t, b, func(b []byte) error {
		_, err := ParseRPC(b)
		if len(b) == whole {
			return errors.Join(err, errors.New("legal"))
		}
		return err
	})
}

func TestTransMgrGolden(t *testing.T) {
	h := AllHeaders{Outstanding: 1}
	for _, c := range []struct {
		name string
		q    TransMgrRequest
		wire string
	}{
		{"begin", TransMgrRequest{Headers: h, Type: TMBegin, Isolation: IsolationSnapshot}, "0500 05 00"},
		{"begin named", TransMgrRequest{Headers: h, Type: TMBegin, Name: "abc"}, "0500 00 03 610062006300"},
		{"commit", TransMgrRequest{Headers: h, Type: TMCommit}, "0700 00 00"},
		{"commit and begin", TransMgrRequest{Headers: h, Type: TMCommit, BeginNext: true}, "0700 00 01 00 00"},
		{"rollback", TransMgrRequest{Headers: h, Type: TMRollback, Name: "s"}, "0800 01 7300 00"},
		{"save", TransMgrRequest{Headers: h, Type: TMSave, Name: "s"}, "0900 01 7300"},
		{"dtc address", TransMgrRequest{Headers: h, Type: TMGetDTCAddress, Payload: []byte{}}, "0000 0000"},
		{"promote", TransMgrRequest{Headers: h, Type: TMPromote}, "0600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkHex(t, "encoded", c.q.Append(nil), headersHex+c.wire)
			got, err := ParseTransMgr(unhex(t, headersHex+c.wire))
			if err != nil || !reflect.DeepEqual(got, c.q) {
				t.Errorf("got %+v, %v", got, err)
			}
			everyPrefix(t, unhex(t, headersHex+c.wire), func(b []byte) error { _, err := ParseTransMgr(b); return err })
		})
	}
	// A client that counts the bytes of a name, and one that sends fields which the flag says are not there.
	if q, err := ParseTransMgr(unhex(t, headersHex+"0500 02 04 61006200")); err != nil || q.Name != "ab" {
		t.Errorf("length in bytes: %+v, %v", q, err)
	}
	if q, err := ParseTransMgr(unhex(t, headersHex+"0800 00 00 00 00")); err != nil || q.BeginNext {
		t.Errorf("rollback with more: %+v, %v", q, err)
	}
	if _, err := ParseTransMgr(unhex(t, headersHex+"6300 00")); err == nil {
		t.Error("type 99 is accepted")
	}
}
