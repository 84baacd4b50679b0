package body_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/mssqltest"
)

func query(ctx context.Context, c *session.Conn, text string) (out [][]driver.Value, err error) {
	rows, err := c.Query(ctx, text, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			return nil, err
		}
		out = append(out, row)
	}
}

// A value that T-SQL stores in a column of a type comes out of a select as its message form, or as the error that says why not.
func TestValuesOfAServer(t *testing.T) {
	const latin = "SQL_Latin1_General_CP1_CI_AS"
	tests := []struct{ typ, collation, value, want string }{
		{"datetime2(7)", "", "'0001-01-01'", `"0001-01-01T00:00:00.0000000"`},
		{"datetime2(7)", "", "'9999-12-31T23:59:59.9999999'", `"9999-12-31T23:59:59.9999999"`},
		{"datetime2(0)", "", "'1582-10-10'", `"1582-10-10T00:00:00"`},
		{"time(7)", "", "'23:59:59.9999999'", `"23:59:59.9999999"`},
		{"time(0)", "", "'23:59:59'", `"23:59:59"`},
		{"datetime", "", "'2024-02-29T12:34:56.789'", `"2024-02-29T12:34:56.790"`},
		{"smalldatetime", "", "'2024-02-29T12:34:29'", `"2024-02-29T12:34:00"`},
		{"datetimeoffset(7)", "", "'2024-02-29T23:59:59.1234567+09:00'", `"2024-02-29T23:59:59.1234567+09:00"`},
		{"date", "", "'9999-12-31'", `"9999-12-31"`},
		{"money", "", "922337203685477.5807", `"922337203685477.5807"`},
		{"money", "", "-922337203685477.5808", `"-922337203685477.5808"`},
		{"smallmoney", "", "-214748.3648", `"-214748.3648"`},
		{"decimal(38,0)", "", strings.Repeat("9", 38), `"` + strings.Repeat("9", 38) + `"`},
		{"decimal(38,38)", "", "0." + strings.Repeat("0", 37) + "1", `"0.` + strings.Repeat("0", 37) + `1"`},
		{"decimal(5,2)", "", "1.5", `"1.50"`},
		{"bigint", "", "9007199254740993", `9007199254740993`},
		{"bigint", "", "-9223372036854775808", `-9223372036854775808`},
		{"bit", "", "1", `true`},
		{"bit", "", "NULL", `null`},
		{"tinyint", "", "255", `255`},
		{"real", "", "0.1", `0.1`},
		{"float", "", "0.1", `0.1`},
		{"uniqueidentifier", "", "'01234567-89AB-CDEF-0123-456789ABCDEF'", `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
		{"binary(8)", "", "0xdeadbeef", `"3q2+7wAAAAA="`},
		{"varbinary(max)", "", "0xdeadbeef", `"3q2+7w=="`},
		{"image", "", "0xff", `"/w=="`},
		{"sql_variant", "", "CAST(1 AS int)", `{"type":"int","value":1}`},
		{"sql_variant", "", "N'é'", `{"type":"nvarchar","value":"é"}`},
		{"sql_variant", "", "CAST('é' AS varchar(20))", `{"type":"varchar","value":"é"}`},
		{"sql_variant", "", "CAST('2024-02-29T23:59:59.1234567' AS datetime2(7))", `{"type":"datetime2(7)","value":"2024-02-29T23:59:59.1234567"}`},
		{"sql_variant", "", "CAST(1.5 AS decimal(5,2))", `{"type":"decimal(5,2)","value":"1.50"}`},
		{"sql_variant", "", "NULL", `null`},
		{"hierarchyid", "", "0x5ac0", `"WsA="`},
		{"xml", "", "N'<a>é&amp;</a>'", `"<a>é&amp;</a>"`},
		{"varchar(20)", latin, "N'é€'", `"é€"`},
		{"varchar(20)", "Japanese_CI_AS", "N'表ソ十'", `"表ソ十"`},
		{"varchar(20)", "Latin1_General_100_CI_AS_SC_UTF8", "N'😀é'", `"😀é"`},
		{"varchar(5)", latin, "0x81", "\"\u0081\""},
		{"text", latin, "'abcé'", `"abcé"`},
		{"ntext", latin, "N'名'", `"名"`},
		{"char(5)", latin, "'ab'", `"ab   "`},
		{"nchar(3)", latin, "N'名'", `"名  "`},
		{"nvarchar(10)", latin, "N''", `""`},
		{"nvarchar(10)", latin, "N' '", `" "`},
		{"nvarchar(max)", latin, "N'😀'", `"😀"`},
		{"nvarchar(5)", latin, "NCHAR(0xfffd)", "\"\uFFFD\""},
		{"nvarchar(5)", latin, "NCHAR(0xd83d)", "error: lone surrogate U+D83D"},
	}
	s := mssqltest.Start(t, mssqltest.Config{})
	c, err := session.Open(t.Context(), session.Config{ConnectionString: s.ConnString(), Dial: s.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, tt := range tests {
		t.Run(tt.typ+" "+tt.value, func(t *testing.T) {
			typ, err := sqltype.Parse(tt.typ)
			if err != nil {
				t.Fatal(err)
			}
			typ.Nullable, typ.Collation = true, tt.collation
			name, decl := fmt.Sprintf("dbo.ty%d", i), tt.typ
			if tt.collation != "" {
				decl += " COLLATE " + tt.collation
			}
			got, err := roundTrip(t.Context(), c, name, decl, tt.value, typ)
			if err != nil {
				got = "error: " + err.Error()
			}
			if want, isError := strings.CutPrefix(tt.want, "error: "); isError {
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want an error with %q", got, want)
				}
			} else if got != `{"c":`+want+`}` {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func roundTrip(ctx context.Context, c *session.Conn, table, decl, value string, typ sqltype.Type) (string, error) {
	if _, err := query(ctx, c, "CREATE TABLE "+table+" (c "+decl+" NULL); INSERT INTO "+table+" VALUES ("+value+")"); err != nil {
		return "", err
	}
	rows, err := query(ctx, c, "SELECT "+strings.Join(typ.SelectList("[c]"), ", ")+" FROM "+table)
	if err != nil {
		return "", err
	}
	b, err := rowset.NewBuilder(table, []rowset.Column{{Name: "c", Type: typ}}, rowset.Options{})
	if err != nil {
		return "", err
	}
	for _, r := range rows {
		if err := b.AppendDriverRow(r); err != nil {
			return "", err
		}
	}
	for _, cell := range b.Suspects() {
		exact, err := query(ctx, c, "SELECT "+sqltype.ExactText("[c]")+" FROM "+table)
		if err != nil {
			return "", err
		}
		units, _ := exact[0][0].([]byte)
		if err := b.Settle(cell, units); err != nil {
			return "", err
		}
	}
	rec, err := b.Finish()
	if err != nil {
		return "", err
	}
	defer rec.Release()
	j, err := body.NewJSON(table, rec.Schema(), []int{0}, nil)
	if err != nil {
		return "", err
	}
	r, err := j.Bind(rec)
	if err != nil {
		return "", err
	}
	out, err := r.AppendRow(nil, 0, nil)
	return string(out), err
}
