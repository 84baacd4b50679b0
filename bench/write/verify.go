package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	_ "github.com/microsoft/go-mssqldb" // the database/sql driver that looks at the table

	"example.com/mssqlcdc/bench/write/internal/client"
)

// verifyRows is how many rows of each scenario every peer loads into the stand-in itself.
const verifyRows = 20_000

// verify has a peer load into the stand-in, and counts rows, values that are not NULL, and per column the sum of numbers and
// lengths and the range of dates.
func verify(ctx context.Context, cache string, srv *servers, s *scenario, p *peer) error {
	file, err := input(cache, s, verifyRows)
	if err != nil {
		return err
	}
	o := &client.Options{Addr: srv.standIn.addr, User: login, Password: password, Database: database, Table: s.name, File: file, Packet: p.packets[0]}
	db, err := sql.Open("sqlserver", o.URL())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, "TRUNCATE TABLE dbo."+s.name); err != nil {
		return err
	}
	r, err := p.load(ctx, o)
	if err != nil {
		return err
	}
	got, err := seen(ctx, db, s)
	if err != nil {
		return err
	}
	if want := s.expected(verifyRows); got != want || r.Rows != verifyRows {
		return fmt.Errorf("%s says that %d rows are loaded; the table has\n%s\nand should have\n%s", p.name, r.Rows, got, want)
	}
	_, err = db.ExecContext(ctx, "TRUNCATE TABLE dbo."+s.name)
	return err
}

// seen is what the table has, as one line.
func seen(ctx context.Context, db *sql.DB, s *scenario) (string, error) {
	list := []string{"COUNT(*)"}
	for _, c := range s.columns {
		list = append(list, "COUNT("+c.name+")", c.aggregate())
	}
	row := make([]any, len(list))
	for i := range row {
		row[i] = new(any)
	}
	if err := db.QueryRowContext(ctx, "SELECT "+strings.Join(list, ", ")+" FROM dbo."+s.name).Scan(row...); err != nil {
		return "", fmt.Errorf("looking at the table: %w", err)
	}
	out := make([]string, len(row))
	for i, v := range row {
		switch v := (*v.(*any)).(type) {
		case []byte:
			out[i] = string(v)
		case time.Time:
			out[i] = v.UTC().Format(time.DateTime)
		case float64:
			out[i] = strconv.FormatFloat(v, 'f', 2, 64)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(out, " "), nil
}

// aggregate is the expression that stands for all values of a column.
func (c *column) aggregate() string {
	switch c.arrow.ID() {
	case arrow.STRING, arrow.BINARY:
		return "SUM(CAST(DATALENGTH(" + c.name + ") AS bigint))"
	case arrow.DATE32, arrow.TIMESTAMP:
		return "MAX(" + c.name + ")"
	case arrow.FLOAT64:
		return "SUM(" + c.name + ")"
	case arrow.DECIMAL128:
		return "SUM(" + c.name + ")"
	}
	return "SUM(CAST(" + c.name + " AS bigint))"
}

// expected is what the table must have.
func (s *scenario) expected(rows int64) string {
	out := []string{strconv.FormatInt(rows, 10)}
	for _, c := range s.columns {
		var count, sum, most int64
		var float float64
		for r := range rows {
			v := c.value(r)
			if v == nil {
				continue
			}
			count++
			switch v := v.(type) {
			case bool:
				if v {
					sum++
				}
			case int32:
				sum += int64(v)
			case int64:
				sum, most = sum+v, max(most, v)
			case float64:
				float += v
			case string:
				for _, u := range v {
					sum += 2
					if u > 0xFFFF {
						sum += 2
					}
				}
			case []byte:
				sum += int64(len(v))
			}
		}
		text := strconv.FormatInt(sum, 10)
		switch t := c.arrow.(type) {
		case *arrow.Float64Type:
			text = strconv.FormatFloat(float, 'f', 2, 64)
		case *arrow.Decimal128Type:
			text = decimal128.FromI64(sum).ToString(t.Scale)
		case *arrow.Date32Type:
			text = time.Unix(most*86400, 0).UTC().Format(time.DateTime)
		case *arrow.TimestampType:
			text = time.UnixMilli(most).UTC().Format(time.DateTime)
		}
		out = append(out, strconv.FormatInt(count, 10), text)
	}
	return strings.Join(out, " ")
}
