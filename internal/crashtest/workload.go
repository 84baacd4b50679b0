//go:build unix

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Name is a table.
type Name struct{ Schema, Table string }

func (n Name) String() string { return n.Schema + "." + n.Table }

// stored is the name under which its position is stored: parts with a dot or a bracket are quoted.
func (n Name) stored() string {
	part := func(s string) string {
		if strings.ContainsAny(s, ".[]") {
			return quote(s)
		}
		return s
	}
	return part(n.Schema) + "." + part(n.Table)
}

// quoted is the name for T-SQL.
func (n Name) quoted() string { return quote(n.Schema) + "." + quote(n.Table) }

func quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

func literal(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Workload is a database and how it changes.
type Workload struct {
	Name     string
	Database string
	Setup    string // tables and their first rows, with GO lines
	Tables   []Name
	// Next makes a random transaction's statements.
	Next func(*rand.Rand) string
	// Last changes each table.
	Last string
}

// kind is how a table of Odd is made and changed.
type kind struct {
	name    Name
	columns string             // their definitions, and the key
	values  func(n int) string // row number n
	where   func(n int) string // finds it
	update  string             // SET …
	move    func(n int) string // SET … to the key of row n; nil for none
	live    []int              // rows that are there
	heap    bool               // rows are not told apart
}

var (
	sqlTexts = []string{"a-", "A''", "co-op ", "coop", "é", "ß", "Æ", "_", "[x]%", "z"}
	winTexts = []string{"a-", "co-op ", "coop", "名", "😀", "ﬁ", "ı", "İ", "e\u0301", "'' "}
)

// Odd makes tables whose keys have gone wrong elsewhere: text in SQL_ and Windows collations, datetime, GUID, bit, decimal,
// composite keys, odd names, and a table without a key that has equal rows. Each begins with so many rows.
func Odd(rows int) Workload {
	day := func(n int) string { return fmt.Sprintf("'2024-02-%02dT", 1+n%28) }
	kinds := []*kind{
		{
			name: Name{"dbo", "text_sql"}, columns: "k varchar(30) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL PRIMARY KEY, v nvarchar(40) NULL, n int NOT NULL",
			values: func(n int) string { return fmt.Sprintf("'%s%06d', N'%s', %d", sqlTexts[n%10], n, winTexts[n%10], n) },
			where:  func(n int) string { return fmt.Sprintf("k = '%s%06d'", sqlTexts[n%10], n) },
			update: "n = n + 1, v = v + N'+'", move: func(n int) string { return fmt.Sprintf("k = '%s%06d'", sqlTexts[n%10], n) },
		}, {
			name: Name{"dbo", "text_win"}, columns: "k nvarchar(30) COLLATE Latin1_General_100_CI_AS_SC NOT NULL PRIMARY KEY, v varchar(40) NULL",
			values: func(n int) string { return fmt.Sprintf("N'%s%06d', '%s'", winTexts[n%10], n, sqlTexts[n%10]) },
			where:  func(n int) string { return fmt.Sprintf("k = N'%s%06d'", winTexts[n%10], n) },
			update: "v = LEFT('x' + ISNULL(v, ''), 40)", move: func(n int) string { return fmt.Sprintf("k = N'%s%06d'", winTexts[n%10], n) },
		}, {
			name: Name{"dbo", "text_tr"}, columns: "k varchar(30) COLLATE Turkish_CI_AS NOT NULL PRIMARY KEY, v real NULL",
			values: func(n int) string {
				return fmt.Sprintf("N'%s%06d', %d.25", []string{"ı", "i", "İ", "I", "ğ-"}[n%5], n, n)
			},
			where:  func(n int) string { return fmt.Sprintf("k = N'%s%06d'", []string{"ı", "i", "İ", "I", "ğ-"}[n%5], n) },
			update: "v = v / 3",
		}, {
			name: Name{"dbo", "at"}, columns: "k datetime NOT NULL PRIMARY KEY, v datetime2(7) NULL",
			values: func(n int) string {
				return fmt.Sprintf("DATEADD(millisecond, %d, '2024-02-28T23:59:00'), %s12:00:00.1234567'", 10*n+n%3*3, day(n))
			},
			where: func(n int) string {
				return fmt.Sprintf("k = DATEADD(millisecond, %d, '2024-02-28T23:59:00')", 10*n+n%3*3)
			},
			update: "v = DATEADD(nanosecond, 100, v)",
			move: func(n int) string {
				return fmt.Sprintf("k = DATEADD(millisecond, %d, '2024-02-28T23:59:00')", 10*n+n%3*3)
			},
		}, {
			name: Name{"dbo", "guid"}, columns: "k uniqueidentifier NOT NULL PRIMARY KEY, v date NULL",
			values: func(n int) string { return fmt.Sprintf("'%s', %s00:00'", guid(n), day(n)) },
			where:  func(n int) string { return fmt.Sprintf("k = '%s'", guid(n)) },
			update: "v = DATEADD(day, 1, v)", move: func(n int) string { return fmt.Sprintf("k = '%s'", guid(n)) },
		}, {
			name: Name{"dbo", "flags"}, columns: "f bit NOT NULL, n int NOT NULL, v bit NULL, PRIMARY KEY (f, n DESC)",
			values: func(n int) string { return fmt.Sprintf("%d, %d, NULL", n%2, n) },
			where:  func(n int) string { return fmt.Sprintf("f = %d AND n = %d", n%2, n) },
			update: "v = 1 - ISNULL(v, 0)",
		}, {
			name: Name{"dbo", "amount"}, columns: "k decimal(20,5) NOT NULL PRIMARY KEY, v money NULL",
			values: func(n int) string { return fmt.Sprintf("%s, %d.5", amount(n), n) },
			where:  func(n int) string { return "k = " + amount(n) },
			update: "v = -v", move: func(n int) string { return "k = " + amount(n) },
		}, {
			name: Name{"dbo", "composite"}, columns: "c varchar(10) NOT NULL, d datetime2(7) NOT NULL, i smallint NOT NULL, v varbinary(20) NULL, PRIMARY KEY NONCLUSTERED (c, d DESC, i)",
			values: func(n int) string {
				return fmt.Sprintf("'%c-', %s00:00:00.0000001', %d, 0x00FF%04x", 'a'+n%3, day(n), n%30000, n%65536)
			},
			where: func(n int) string {
				return fmt.Sprintf("c = '%c-' AND d = %s00:00:00.0000001' AND i = %d", 'a'+n%3, day(n), n%30000)
			},
			update: "v = v + 0x01",
		}, {
			name: Name{"my schema", "Or'der ]$1.x"}, columns: "[my col$a] int NOT NULL PRIMARY KEY, [a]]b] smallint NULL, [名前] nvarchar(10) NULL, [select] time(3) NULL",
			values: func(n int) string { return fmt.Sprintf("%d, %d, N'名%d', '12:34:56.%03d'", n, n%1000, n%1000, n%1000) },
			where:  func(n int) string { return fmt.Sprintf("[my col$a] = %d", n) },
			update: "[a]]b] = ISNULL([a]]b], 0) + 1, [名前] = NULL", move: func(n int) string { return fmt.Sprintf("[my col$a] = %d", n) },
		}, {
			name: Name{"dbo", "heap"}, columns: "a int NULL, b varchar(10) NULL, c datetimeoffset(7) NULL", heap: true,
			values: func(n int) string { return fmt.Sprintf("%d, 'b', %s09:31:00.2500001+01:00'", n%5, day(n%2)) },
			where:  func(n int) string { return fmt.Sprintf("a = %d", n%5) },
			update: "b = 'x' + LEFT(b, 3)",
		},
	}
	w := Workload{Name: "odd", Database: "odd"}
	var setup strings.Builder
	setup.WriteString("CREATE SCHEMA [my schema]\nGO\n")
	next := rows
	for _, k := range kinds {
		w.Tables = append(w.Tables, k.name)
		fmt.Fprintf(&setup, "CREATE TABLE %s (%s);\n", k.name.quoted(), k.columns)
		count := rows
		if k.heap {
			count = rows / 8 // it is read at once
		}
		for from := 1; from <= count; from += 100 {
			var values []string
			for n := from; n < from+100 && n <= count; n++ {
				values = append(values, "("+k.values(n)+")")
				k.live = append(k.live, n)
			}
			fmt.Fprintf(&setup, "INSERT %s VALUES %s;\nGO\n", k.name.quoted(), strings.Join(values, ", "))
		}
	}
	w.Setup = setup.String()
	for i, k := range kinds {
		w.Last += fmt.Sprintf("INSERT %s VALUES (%s);\n", k.name.quoted(), k.values(29000+i))
	}
	w.Next = func(r *rand.Rand) string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			next++
			b.WriteString(kinds[r.IntN(len(kinds))].statement(r, next) + ";\n")
		}
		return b.String()
	}
	return w
}

func guid(n int) string {
	h := uint64(n) * 0x9E3779B97F4A7C15
	return fmt.Sprintf("%08X-%04X-%04X-%04X-%012X", uint32(h>>32), uint16(h>>16), uint16(h), uint16(n), h>>16&0xFFFFFFFFFFFF)
}

func amount(n int) string { return fmt.Sprintf("%d.%05d", n*7919%100003-50000, n) }

// statement makes a row come, change, get another key, or go.
func (k *kind) statement(r *rand.Rand, next int) string {
	table := k.name.quoted()
	at := r.IntN(max(1, len(k.live)))
	switch op := r.IntN(10); {
	case len(k.live) < 5 || op < 4:
		k.live = append(k.live, next)
		return fmt.Sprintf("INSERT %s VALUES (%s)", table, k.values(next))
	case op < 7:
		return fmt.Sprintf("UPDATE TOP (2) %s SET %s WHERE %s", table, k.update, k.where(k.live[at]))
	case op < 8 && k.move != nil:
		old := k.live[at]
		k.live[at] = next
		return fmt.Sprintf("UPDATE %s SET %s WHERE %s", table, k.move(next), k.where(old))
	}
	old := k.live[at]
	k.live[at] = k.live[len(k.live)-1]
	k.live = k.live[:len(k.live)-1]
	return fmt.Sprintf("DELETE TOP (1) FROM %s WHERE %s", table, k.where(old))
}
