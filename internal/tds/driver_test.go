package tds_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"example.com/mssqlcdc/internal/tds"
)

// These tests let a driver that is not ours read what this package writes, and write what it reads.

// peer answers one connection: login, then what reply says to each request.
type peer struct {
	conn  net.Conn
	reply func(h tds.Header, body []byte) []byte
	bulk  func(*tds.MessageReader) []byte
}

func (p *peer) serve() error {
	defer p.conn.Close()
	in := tds.NewMessageReader(p.conn, 1<<20)
	out := tds.NewMessageWriter(p.conn, tds.DefaultPacketSize)
	for {
		h, err := in.Next()
		if err == io.EOF || errors.Is(err, io.ErrClosedPipe) {
			return nil
		}
		if err != nil {
			return err
		}
		var answer []byte
		if h.Type == tds.PacketBulkLoad {
			answer = p.bulk(in)
		} else {
			body, err := in.ReadAll(nil)
			if err != nil {
				return err
			}
			if answer, err = p.answer(h, body); err != nil {
				return err
			}
		}
		if err := out.WriteMessage(tds.PacketReply, 0, answer); err != nil {
			return err
		}
	}
}

func (p *peer) answer(h tds.Header, body []byte) ([]byte, error) {
	switch h.Type {
	case tds.PacketPrelogin:
		if _, err := tds.ParsePrelogin(body); err != nil {
			return nil, err
		}
		a := tds.Prelogin{Version: tds.PreloginVersion{Major: 16, Build: 1000}, Encryption: tds.EncryptNotSupported}
		return a.Append(nil), nil
	case tds.PacketLogin7:
		l, err := tds.ParseLogin7(body)
		if err != nil {
			return nil, err
		}
		if l.UserName != "sa" || l.Password != "pä$$" || l.Database != "db" {
			return nil, fmt.Errorf("login of %q %q to %q", l.UserName, l.Password, l.Database)
		}
		env := tds.EnvChange{Type: tds.EnvDatabase, New: "db", Old: "master"}
		b := env.Append(nil)
		env = tds.EnvChange{Type: tds.EnvCollation, NewBytes: tds.DefaultCollation[:]}
		b = env.Append(b)
		ack := tds.LoginAck{Interface: 1, TDSVersion: tds.Version74, Program: "Microsoft SQL Server", Version: [4]byte{16, 0, 3, 232}}
		b = ack.Append(b)
		env = tds.EnvChange{Type: tds.EnvPacketSize, New: "4096", Old: "4096"}
		return done(0, 0).Append(env.Append(b)), nil
	}
	return p.reply(h, body), nil
}

func done(status uint16, rows uint64) *tds.Done { return &tds.Done{Status: status, RowCount: rows} }

// open gives a database whose connections are served by peers; it checks at the end that none of them failed.
func open(t *testing.T, reply func(tds.Header, []byte) []byte, bulk func(*tds.MessageReader) []byte) *sql.DB {
	cfg, err := msdsn.Parse("sqlserver://sa:p%C3%A4$$@127.0.0.1:1433?database=db&encrypt=disable&dial+timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	connector := mssql.NewConnectorConfig(cfg)
	served := make(chan error)
	count := 0
	connector.Dialer = dialer(func() net.Conn {
		here, there := net.Pipe()
		count++
		p := &peer{conn: there, reply: reply, bulk: bulk}
		go func() { served <- p.serve() }()
		return here
	})
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		_ = db.Close()
		for range count {
			if err := <-served; err != nil {
				t.Errorf("peer: %v", err)
			}
		}
	})
	return db
}

type dialer func() net.Conn

func (d dialer) DialContext(context.Context, string, string) (net.Conn, error) { return d(), nil }

// driverCase is a column, its cell and what the driver makes of it.
type driverCase struct {
	name string
	info tds.TypeInfo
	cell []byte
	want any
}

func driverCases() []driverCase {
	u := func(s string) []byte { return tds.AppendUTF16(nil, s) }
	chars := func(t tds.DataType, n int) tds.TypeInfo { return tds.CharType(t, n, tds.DefaultCollation) }
	day := int32(tds.UnixDay + 19782) // 2024-02-29
	noon := uint64(12 * 3600 * 1e7)
	at := func(loc *time.Location) time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, loc) }
	east := time.FixedZone("", 3600)
	variant := tds.Variant{Info: tds.Fixed(tds.TypeInt4), Value: tds.AppendInt(nil, 7, 4)}
	money := tds.AppendMoney(nil, -12345, 8)
	return []driverCase{
		{"int", tds.Fixed(tds.TypeInt4), tds.AppendInt(nil, -5, 4), int64(-5)},
		{"bigint", tds.Nullable(tds.TypeIntN, 8), tds.AppendInt(nil, -1<<40, 8), int64(-1 << 40)},
		{"int null", tds.Nullable(tds.TypeIntN, 4), nil, nil},
		{"tinyint", tds.Nullable(tds.TypeIntN, 1), []byte{255}, int64(255)},
		{"bit", tds.Nullable(tds.TypeBitN, 1), []byte{1}, true},
		{"real", tds.Nullable(tds.TypeFltN, 4), tds.AppendFloat(nil, 1.5, 4), 1.5},
		{"float", tds.Fixed(tds.TypeFlt8), tds.AppendFloat(nil, -1e300, 8), -1e300},
		{"decimal", tds.DecimalType(tds.TypeDecimalN, 5, 2), tds.AppendDecimal(nil, tds.Decimal{Neg: true, Lo: 12345}, 5), []byte("-123.45")},
		{"numeric", tds.DecimalType(tds.TypeNumericN, 38, 0), tds.AppendDecimal(nil, tds.Decimal{Hi: 1}, 17), []byte("18446744073709551616")},
		{"money", tds.Nullable(tds.TypeMoneyN, 8), money, []byte("-1.2345")},
		{"datetime", tds.Nullable(tds.TypeDateTimN, 8), tds.AppendDateTime(nil, 45349, 12*3600*300), at(time.UTC)},
		{"smalldatetime", tds.Fixed(tds.TypeDateTim4), tds.AppendSmallDateTime(nil, 45349, 720), at(time.UTC)},
		{"date", tds.TemporalType(tds.TypeDateN, 0), tds.AppendDate(nil, day), time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"time", tds.TemporalType(tds.TypeTimeN, 3), tds.AppendTime(nil, tds.TicksOf(int64(noon), 3), 3), time.Date(1, 1, 1, 12, 0, 0, 0, time.UTC)},
		{"datetime2", tds.TemporalType(tds.TypeDateTime2N, 7), tds.AppendDateTime2(nil, day, noon, 7), at(time.UTC)},
		{"datetimeoffset", tds.TemporalType(tds.TypeDateTimeOffsetN, 0), tds.AppendDateTimeOffset(nil, day, 11*3600, 0, 60), at(east)},
		{"guid", tds.Nullable(tds.TypeGUID, 16), tds.AppendGUID(nil, [16]byte{0: 1, 15: 2}), []byte{3: 1, 15: 2}},
		{"varchar", chars(tds.TypeBigVarChar, 10), []byte("h\xe9"), "hé"},
		{"char", chars(tds.TypeBigChar, 3), []byte("ab "), "ab "},
		{"nvarchar", chars(tds.TypeNVarChar, 20), u("é😀"), "é😀"},
		{"nvarchar(max)", chars(tds.TypeNVarChar, tds.MaxSize), u("long text"), "long text"},
		{"nvarchar(max) null", chars(tds.TypeNVarChar, tds.MaxSize), nil, nil},
		{"varbinary", tds.Nullable(tds.TypeBigVarBinary, 10), []byte{1, 2}, []byte{1, 2}},
		{"varbinary(max)", tds.Nullable(tds.TypeBigVarBinary, tds.MaxSize), []byte{1, 2, 3}, []byte{1, 2, 3}},
		{"xml", tds.TypeInfo{Type: tds.TypeXML}, u("<a/>"), "<a/>"},
		{"typed xml", tds.TypeInfo{Type: tds.TypeXML, XML: &tds.XMLSchema{Database: "d", Schema: "s", Collection: "c"}}, u("<a/>"), "<a/>"},
		{"udt", tds.TypeInfo{Type: tds.TypeUDT, UDT: &tds.UDTInfo{MaxSize: 892, Database: "d", Schema: "sys", Name: "hierarchyid", Assembly: "x"}}, []byte{0x58}, []byte{0x58}},
		{"text", chars(tds.TypeText, 1<<31-1), []byte("text"), "text"},
		{"ntext", chars(tds.TypeNText, 1<<31-2), u("ntext"), "ntext"},
		{"image", tds.Nullable(tds.TypeImage, 1<<31-1), []byte{9}, []byte{9}},
		{"image null", tds.Nullable(tds.TypeImage, 1<<31-1), nil, nil},
		{"sql_variant", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), variant.Append(nil), int64(7)},
	}
}

func TestDriverReadsEveryType(t *testing.T) {
	cases := driverCases()
	var cols []tds.ColumnMeta
	var cells [][]byte
	for _, c := range cases {
		col := tds.ColumnMeta{Flags: tds.ColumnNullable | tds.ColumnUpdatableUnsure, Info: c.info, Name: c.name}
		if c.info.HasTextPointer() {
			col.Table = []string{"db", "dbo", "t"}
		}
		cols, cells = append(cols, col), append(cells, c.cell)
	}
	var text string
	db := open(t, func(h tds.Header, body []byte) []byte {
		q, err := tds.ParseSQLBatch(body)
		if err != nil {
			t.Error(err)
		}
		text = q.Text
		info := tds.ServerMessage{Info: true, Number: 5701, Class: 0, Message: "hello", Server: "s", Line: 1}
		b := (&tds.ColMetaData{Columns: cols}).Append(info.Append(nil))
		b = tds.AppendRow(tds.Order{1}.Append(b), cols, cells)
		b = tds.AppendNBCRow(b, cols, cells)
		return done(tds.DoneCount, 2).Append(b)
	}, nil)
	rows, err := db.Query("select 'é'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
		got := make([]any, len(cases))
		into := make([]any, len(cases))
		for i := range got {
			into[i] = &got[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			if at, ok := c.want.(time.Time); ok {
				if g, ok := got[i].(time.Time); !ok || !g.Equal(at) {
					t.Errorf("%s: got %v, want %v", c.name, got[i], at)
				}
				continue
			}
			if fmt.Sprintf("%T %v", got[i], got[i]) != fmt.Sprintf("%T %v", c.want, c.want) {
				t.Errorf("%s: got %T %v, want %T %v", c.name, got[i], got[i], c.want, c.want)
			}
		}
	}
	if err := rows.Err(); err != nil || n != 2 || text != "select 'é'" {
		t.Errorf("%d rows of %q, %v", n, text, err)
	}
}

func TestDriverErrorAndParameters(t *testing.T) {
	db := open(t, func(h tds.Header, body []byte) []byte {
		q, err := tds.ParseRPC(body)
		if err != nil || len(q.Calls) != 1 {
			t.Errorf("%+v, %v", q, err)
			return done(tds.DoneError, 0).Append(nil)
		}
		c := q.Calls[0]
		if c.ProcID != tds.ProcExecuteSQL || len(c.Params) != 5 {
			t.Errorf("%+v", c)
			return done(tds.DoneError, 0).Append(nil)
		}
		if s := tds.DecodeUTF16(c.Params[2].Value); s != "é" || c.Params[2].Name != "@p1" {
			t.Errorf("first value %q of %q", s, c.Params[2].Name)
		}
		if n, ok := tds.Int64(c.Params[3].Value); !ok || n != -7 {
			t.Errorf("second value %d", n)
		}
		if string(c.Params[4].Value) != "\x00\x01" {
			t.Errorf("third value %x", c.Params[4].Value)
		}
		e := tds.ServerMessage{Number: 547, State: 1, Class: 16, Message: "nö", Server: "s", Proc: "p", Line: 3}
		return done(tds.DoneError, 0).Append(tds.ReturnStatus(1).Append(e.Append(nil)))
	}, nil)
	_, err := db.Exec("update t set a = @p1, b = @p2, c = @p3", "é", -7, []byte{0, 1})
	var e mssql.Error
	if !errors.As(err, &e) || e.Number != 547 || e.Class != 16 || e.Message != "nö" || e.LineNo != 3 || e.ProcName != "p" || e.ServerName != "s" {
		t.Errorf("got %#v", err)
	}
}

func TestDriverTransaction(t *testing.T) {
	var seen []tds.TransMgrRequest
	db := open(t, func(h tds.Header, body []byte) []byte {
		q, err := tds.ParseTransMgr(body)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, q)
		kind := tds.EnvCommitTran
		if q.Type == tds.TMBegin {
			kind = tds.EnvBeginTran
		}
		env := tds.EnvTransaction(kind, 0x0102030405060708)
		return done(0, 0).Append(env.Append(nil))
	}, nil)
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSnapshot})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0].Isolation != tds.IsolationSnapshot || seen[1].Type != tds.TMCommit || seen[1].Headers.Transaction != 0x0102030405060708 {
		t.Errorf("%+v", seen)
	}
}

func TestDriverBulkLoad(t *testing.T) {
	cols := []tds.ColumnMeta{
		{Flags: tds.ColumnUpdatable, Info: tds.Fixed(tds.TypeInt4), Name: "a"},
		{Flags: tds.ColumnUpdatable | tds.ColumnNullable, Info: tds.CharType(tds.TypeNVarChar, 100, tds.DefaultCollation), Name: "b"},
		{Flags: tds.ColumnUpdatable | tds.ColumnNullable, Info: tds.Nullable(tds.TypeBigVarBinary, tds.MaxSize), Name: "c"},
		{Flags: tds.ColumnUpdatable | tds.ColumnNullable, Info: tds.DecimalType(tds.TypeDecimalN, 18, 4), Name: "d"},
		{Flags: tds.ColumnUpdatable | tds.ColumnNullable, Info: tds.TemporalType(tds.TypeDateTime2N, 3), Name: "e"},
	}
	var got []string
	db := open(t, func(h tds.Header, body []byte) []byte {
		return done(tds.DoneCount, 0).Append((&tds.ColMetaData{Columns: cols}).Append(nil))
	}, func(in *tds.MessageReader) []byte {
		br := tds.NewBulkReader(in, tds.Limits{})
		for {
			cells, err := br.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Error(err)
				break
			}
			got = append(got, fmt.Sprintf("%x", cells))
		}
		return done(tds.DoneCount, uint64(len(got))).Append(nil)
	})
	tx, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	st, err := tx.PrepareContext(context.Background(), mssql.CopyIn("t", mssql.BulkOptions{}, "a", "b", "c", "d", "e"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if i == 0 {
			_, err = st.Exec(1, "hé", []byte{1, 2}, "-1.5", time.Date(2024, 2, 29, 0, 0, 1, 0, time.UTC))
		} else {
			_, err = st.Exec(2, nil, nil, nil, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	res, err := st.Exec()
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 2 {
		t.Errorf("%d rows", n)
	}
	want := []string{"[01000000 6800e900 0102 00983a000000000000 e803000080460b]", "[02000000    ]"}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
}
