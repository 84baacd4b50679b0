//go:build unix

package crashtest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// column is one of a table, with the T-SQL that shows its value and what becomes of that in a message.
type column struct {
	name, typ string
}

// shown are the styles by which T-SQL shows values exactly, and the rest of the way to the form in messages.
var shown = map[string]struct {
	text string // of T-SQL
	form func(string) string
}{
	"bit":              {"CONVERT(varchar(1), %s)", func(s string) string { return map[string]string{"0": "false", "1": "true"}[s] }},
	"tinyint":          {"CONVERT(varchar(20), %s)", asIs},
	"smallint":         {"CONVERT(varchar(20), %s)", asIs},
	"int":              {"CONVERT(varchar(20), %s)", asIs},
	"bigint":           {"CONVERT(varchar(20), %s)", asIs},
	"real":             {"CONVERT(varchar(40), %s, 3)", float(32)},
	"float":            {"CONVERT(varchar(40), %s, 3)", float(64)},
	"decimal":          {"CONVERT(varchar(50), %s)", text},
	"numeric":          {"CONVERT(varchar(50), %s)", text},
	"money":            {"CONVERT(varchar(50), %s, 2)", text},
	"date":             {"CONVERT(varchar(50), %s, 23)", text},
	"time":             {"CONVERT(varchar(50), %s)", text},
	"datetime":         {"CONVERT(varchar(50), %s, 121)", timestamp},
	"datetime2":        {"CONVERT(varchar(50), %s, 121)", timestamp},
	"datetimeoffset":   {"CONVERT(varchar(50), %s, 121)", timestamp},
	"uniqueidentifier": {"CONVERT(char(36), %s)", text},
	"varchar":          {"%s", text},
	"nvarchar":         {"%s", text},
	"varbinary":        {"CONVERT(varchar(max), %s, 2)", binary},
}

func asIs(s string) string { return s }
func text(s string) string { return strconv.Quote(s) }

// timestamp has blanks where messages have a T and nothing.
func timestamp(s string) string {
	return strconv.Quote(strings.ReplaceAll(strings.Replace(s, " ", "T", 1), " ", ""))
}

func float(bits int) func(string) string {
	return func(s string) string {
		f, err := strconv.ParseFloat(s, bits)
		if err != nil {
			return err.Error()
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
}

func binary(s string) string {
	raw, err := hex.DecodeString(s)
	if err != nil {
		return err.Error()
	}
	return strconv.Quote(base64.StdEncoding.EncodeToString(raw))
}

// columns describes a table.
func (l *Lab) columns(n Name) (out []column) {
	l.t.Helper()
	for _, row := range l.query(fmt.Sprintf(`SELECT c.name, t.name FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id
WHERE c.object_id = OBJECT_ID(%s) ORDER BY c.column_id`, literal(n.quoted()))) {
		out = append(out, column{row[0], row[1]})
	}
	return out
}

// source reads the rows of a table, each in the form of canonical.
func (l *Lab) source(n Name) (rows []string) {
	l.t.Helper()
	columns := l.columns(n)
	var list []string
	for _, c := range columns {
		s, ok := shown[c.typ]
		if !ok {
			l.t.Fatalf("table %s has a %s, which the verifier cannot show", n, c.typ)
		}
		name := quote(c.name)
		list = append(list, fmt.Sprintf("CASE WHEN %s IS NULL THEN N'-' ELSE N'=' + %s END", name, fmt.Sprintf(s.text, name)))
	}
	for _, row := range l.query("SELECT " + strings.Join(list, ", ") + " FROM " + n.quoted()) {
		var b strings.Builder
		for i, cell := range row {
			value := "null"
			if strings.HasPrefix(cell, "=") {
				value = shown[columns[i].typ].form(cell[1:])
			}
			fmt.Fprintf(&b, "%q: %s\n", columns[i].name, value)
		}
		rows = append(rows, b.String())
	}
	return rows
}

// canonical writes the members of an object in their order, texts decoded and written in one way, numbers as they are.
func canonical(body string) (string, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", fmt.Errorf("the body is no object: %s", body)
	}
	var b strings.Builder
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", body, err)
		}
		value, err := d.Token()
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", body, err)
		}
		switch v := value.(type) {
		case string:
			fmt.Fprintf(&b, "%q: %q\n", name, v)
		case json.Number:
			fmt.Fprintf(&b, "%q: %s\n", name, v)
		case bool:
			fmt.Fprintf(&b, "%q: %v\n", name, v)
		case nil:
			fmt.Fprintf(&b, "%q: null\n", name)
		default:
			return "", fmt.Errorf("a value of %s is neither text nor number", body)
		}
	}
	return b.String(), nil
}
