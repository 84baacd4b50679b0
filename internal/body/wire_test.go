package body

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/tds"
)

// wireServer lets any client log in and answers every request with the same tokens.
func wireServer(conn net.Conn, answer []byte) error {
	defer conn.Close()
	in, out := tds.NewMessageReader(conn, 1<<20), tds.NewMessageWriter(conn, tds.DefaultPacketSize)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err == nil {
			err = in.Discard()
		}
		if err != nil {
			return err
		}
		reply := answer
		switch h.Type {
		case tds.PacketPrelogin:
			a := tds.Prelogin{Version: tds.PreloginVersion{Major: 16, Build: 1000}, Encryption: tds.EncryptNotSupported}
			reply = a.Append(nil)
		case tds.PacketLogin7:
			ack := tds.LoginAck{Interface: 1, TDSVersion: tds.Version74, Program: "Microsoft SQL Server", Version: [4]byte{16, 0, 3, 232}}
			end := tds.Done{}
			reply = end.Append(ack.Append(nil))
		}
		if err := out.WriteMessage(tds.PacketReply, 0, reply); err != nil {
			return err
		}
	}
}

type pipeDialer struct{ conn net.Conn }

func (d pipeDialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return d.conn, nil
}

// throughDriver gives the driver's row for a result of one row in the bytes of a server.
func throughDriver(t *testing.T, typeInfos, cells []string) []driver.Value {
	t.Helper()
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	answer := []byte{0x81, byte(len(typeInfos)), 0}
	for _, info := range typeInfos {
		answer = append(answer, 0, 0, 0, 0, 0x09, 0)
		answer = append(append(answer, unhex(info)...), 1, 'c', 0)
	}
	answer = append(answer, 0xd1)
	for _, c := range cells {
		answer = append(answer, unhex(c)...)
	}
	answer = append(answer, 0xfd, 0x10, 0, 0xc1, 0, 1, 0, 0, 0, 0, 0, 0, 0)

	cfg, err := msdsn.Parse("sqlserver://sa:x@127.0.0.1:1433?encrypt=disable")
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- wireServer(there, answer) }()
	connector := mssql.NewConnectorConfig(cfg)
	connector.Dialer = pipeDialer{here}
	conn, err := connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = conn.Close() // the pipe is closed by either side
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	stmt, err := conn.Prepare("SELECT c")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		t.Fatal(err)
	}
	return row
}

// The bytes that a server sends for a value (MS-TDS 2.2.5.4, 2.2.5.5), read by the driver, become the value's message form. The
// hexadecimal is written by hand: TYPE_INFO and cell.
func TestFromTheWire(t *testing.T) {
	const (
		collation = "0904d00034"
		guidCell  = "10 67452301 ab89 efcd 0123456789abcdef"
		textNULL  = "e7 0002 " + collation
	)
	tests := []struct {
		name  string
		decl  string
		infos []string
		cells []string
		want  string
	}{
		{name: "bit", decl: "bit", infos: []string{"68 01"}, cells: []string{"01 01"}, want: `true`},
		{name: "tinyint", decl: "tinyint", infos: []string{"26 01"}, cells: []string{"01 ff"}, want: `255`},
		{name: "smallint", decl: "smallint", infos: []string{"26 02"}, cells: []string{"02 0080"}, want: `-32768`},
		{name: "int NOT NULL", decl: "int", infos: []string{"38"}, cells: []string{"ffffff7f"}, want: `2147483647`},
		{name: "bigint", decl: "bigint", infos: []string{"26 08"}, cells: []string{"08 0000000000000080"}, want: `-9223372036854775808`},
		{name: "real", decl: "real", infos: []string{"6d 04"}, cells: []string{"04 cdcccc3d"}, want: `0.1`},
		{name: "real NOT NULL", decl: "real", infos: []string{"3b"}, cells: []string{"cdcccc3d"}, want: `0.1`},
		{name: "float", decl: "float", infos: []string{"6d 08"}, cells: []string{"08 9a9999999999b93f"}, want: `0.1`},
		{name: "decimal", decl: "decimal(5,2)", infos: []string{"6a 05 05 02"}, cells: []string{"05 00 39300000"}, want: `"-123.45"`},
		{name: "decimal 38 nines", decl: "decimal(38,0)", infos: []string{"6a 11 26 00"}, cells: []string{"11 01 ffffffff3f228a097ac4865aa84c3b4b"}, want: `"` + strings.Repeat("9", 38) + `"`},
		{name: "numeric negative zero", decl: "numeric(18,4)", infos: []string{"6c 09 12 04"}, cells: []string{"09 00 0000000000000000"}, want: `"0.0000"`},
		{name: "money least", decl: "money", infos: []string{"6e 08"}, cells: []string{"08 00000080 00000000"}, want: `"-922337203685477.5808"`},
		{name: "money", decl: "money", infos: []string{"6e 08"}, cells: []string{"08 ffffffff c7cfffff"}, want: `"-1.2345"`},
		{name: "smallmoney", decl: "smallmoney", infos: []string{"6e 04"}, cells: []string{"04 00000080"}, want: `"-214748.3648"`},
		{name: "date", decl: "date", infos: []string{"28"}, cells: []string{"03 dab937"}, want: `"9999-12-31"`},
		{name: "time(7)", decl: "time(7)", infos: []string{"29 07"}, cells: []string{"05 ffbf692ac9"}, want: `"23:59:59.9999999"`},
		{name: "time(0)", decl: "time(0)", infos: []string{"29 00"}, cells: []string{"03 7f5101"}, want: `"23:59:59"`},
		{name: "datetime2(7) last", decl: "datetime2(7)", infos: []string{"2a 07"}, cells: []string{"08 ffbf692ac9 dab937"}, want: `"9999-12-31T23:59:59.9999999"`},
		{name: "datetime2(7)", decl: "datetime2(7)", infos: []string{"2a 07"}, cells: []string{"08 f6bf692ac9 39f90a"}, want: `"1969-12-31T23:59:59.9999990"`},
		{name: "datetime2 first", decl: "datetime2(7)", infos: []string{"2a 07"}, cells: []string{"08 0000000000 000000"}, want: `"0001-01-01T00:00:00.0000000"`},
		{name: "datetime", decl: "datetime", infos: []string{"6f 08"}, cells: []string{"08 25b10000 2d5acf00"}, want: `"2024-02-29T12:34:56.790"`},
		{name: "datetime before 1900", decl: "datetime", infos: []string{"3d"}, cells: []string{"462effff 01000000"}, want: `"1753-01-01T00:00:00.003"`},
		{name: "smalldatetime", decl: "smalldatetime", infos: []string{"6f 04"}, cells: []string{"04 25b1 f202"}, want: `"2024-02-29T12:34:00"`},
		{name: "datetimeoffset", decl: "datetimeoffset(7)", infos: []string{"2b 07"}, cells: []string{"0a ffbf692ac9 39f90a 1c02"}, want: `"1970-01-01T08:59:59.9999999+09:00"`},
		{name: "datetimeoffset west", decl: "datetimeoffset(0)", infos: []string{"2b 00"}, cells: []string{"08 000000 3af90a 2eff"}, want: `"1969-12-31T20:30:00-03:30"`},
		{name: "uniqueidentifier", decl: "uniqueidentifier", infos: []string{"24 10"}, cells: []string{guidCell}, want: `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
		{name: "nvarchar", decl: "nvarchar(10)", infos: []string{"e7 1400 " + collation}, cells: []string{"0800 4100 e900 3dd8 00de"}, want: `"Aé😀"`},
		{name: "nvarchar NULL", decl: "nvarchar(10)", infos: []string{"e7 1400 " + collation}, cells: []string{"ffff"}, want: `null`},
		{name: "nvarchar empty", decl: "nvarchar(10)", infos: []string{"e7 1400 " + collation}, cells: []string{"0000"}, want: `""`},
		{name: "nvarchar(max) in chunks", decl: "nvarchar(max)", infos: []string{"e7 ffff " + collation},
			cells: []string{"feffffffffffffff 02000000 4100 03000000 e9003d 03000000 d800de 00000000"}, want: `"Aé😀"`},
		{name: "nvarchar(max) empty", decl: "nvarchar(max)", infos: []string{"e7 ffff " + collation}, cells: []string{"0000000000000000 00000000"}, want: `""`},
		{name: "nvarchar(max) NULL", decl: "nvarchar(max)", infos: []string{"e7 ffff " + collation}, cells: []string{"ffffffffffffffff"}, want: `null`},
		{name: "varchar CP1252", decl: "varchar(20)", infos: []string{"a7 1400 " + collation}, cells: []string{"0200 e980"}, want: `"é€"`},
		{name: "char", decl: "char(5)", infos: []string{"af 0500 " + collation}, cells: []string{"0500 6162202020"}, want: `"ab   "`},
		{name: "binary", decl: "binary(4)", infos: []string{"ad 0400"}, cells: []string{"0400 deadbeef"}, want: `"3q2+7w=="`},
		{name: "varbinary(max)", decl: "varbinary(max)", infos: []string{"a5 ffff"}, cells: []string{"0400000000000000 04000000 deadbeef 00000000"}, want: `"3q2+7w=="`},
		{name: "rowversion", decl: "rowversion", infos: []string{"ad 0800"}, cells: []string{"0800 00000000000007d1"}, want: `"AAAAAAAAB9E="`},
		{name: "xml", decl: "xml", infos: []string{"f1 00"}, cells: []string{"0800000000000000 08000000 3c006100 2f003e00 00000000"}, want: `"<a/>"`},
		{name: "image", decl: "image", infos: []string{"22 ffffff7f 01 0100 7400"}, cells: []string{"10 00000000000000000000000000000000 0000000000000000 02000000 dead"}, want: `"3q0="`},
		{name: "ntext", decl: "ntext", infos: []string{"63 ffffff7f " + collation + " 01 0100 7400"},
			cells: []string{"10 00000000000000000000000000000000 0000000000000000 04000000 4100e900"}, want: `"Aé"`},
		{name: "hierarchyid", decl: "hierarchyid",
			infos: []string{"f0 7c03 00 03 730079007300 0b 68006900650072006100720063006800790069006400 0000"}, cells: []string{"0200000000000000 02000000 5ac0 00000000"}, want: `"WsA="`},
		{name: "variant int", decl: "sql_variant", infos: []string{"62 491f0000", "e7 0002 " + collation, textNULL},
			cells: []string{"06000000 38 00 01000000", "1200 69006e0074002800310030002c0030002900", "ffff"}, want: `{"type":"int","value":1}`},
		{name: "variant decimal", decl: "sql_variant", infos: []string{"62 491f0000", "e7 0002 " + collation, textNULL},
			cells: []string{"09000000 6a 02 05 02 01 96000000", "1800 64006500630069006d0061006c00280035002c0032002900", "ffff"}, want: `{"type":"decimal(5,2)","value":"1.50"}`},
		{name: "variant NULL", decl: "sql_variant", infos: []string{"62 491f0000", textNULL, textNULL}, cells: []string{"00000000", "ffff", "ffff"}, want: `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := batch(t, []rowset.Column{col(t, "c", tt.decl)}, throughDriver(t, tt.infos, tt.cells))
			got, err := bind(t, rec, []int{0}, nil).AppendRow(nil, 0, nil)
			if want := `{"c":` + tt.want + `}`; err != nil || string(got) != want {
				t.Errorf("%s: %s, %v, want %s", strings.Join(tt.cells, " / "), got, err, want)
			}
		})
	}
}

// A lone surrogate and a byte outside the code page arrive as U+FFFD; neither passes for the real character.
func TestDamagedTextFromTheWireIsSuspect(t *testing.T) {
	const collation = "0904d00034"
	for name, tt := range map[string]struct{ info, cell string }{
		"lone high surrogate": {"e7 1400 " + collation, "0400 3dd8 4100"},
		"lone low surrogate":  {"e7 1400 " + collation, "0400 4100 00de"},
		"reversed pair":       {"e7 1400 " + collation, "0400 00de 3dd8"},
		"genuine U+FFFD":      {"e7 1400 " + collation, "0200 fdff"},
		"cut double byte":     {"a7 1400 1104 d000 00", "0100 95"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := rowset.NewBuilder("dbo.ty", []rowset.Column{col(t, "c", "nvarchar(10)")}, rowset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.AppendDriverRow(throughDriver(t, []string{tt.info}, []string{tt.cell})); err != nil {
				t.Fatal(err)
			}
			if got := b.Suspects(); len(got) != 1 || got[0] != (rowset.Cell{}) {
				t.Errorf("suspects %v, want the cell", got)
			}
		})
	}
}
