package clients

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// comparedTables hold all types that both write, a (max) column, and an ntext column beside more than eight others.
var comparedTables = []string{
	`CREATE TABLE dbo.small (id int NOT NULL PRIMARY KEY, n decimal(12,3) NULL, f float NULL, s nvarchar(40) NULL, at datetime2(6) NULL, bin varbinary(16) NULL, note nvarchar(max) NULL)`,
	`CREATE TABLE dbo.wide (k1 int NOT NULL, k2 varchar(10) NOT NULL, b bit NULL, ti tinyint NULL, bi bigint NULL, m money NULL, r real NULL, d date NULL, t time(3) NULL, dt datetime NULL,
		dto datetimeoffset(4) NULL, g uniqueidentifier NULL, v varchar(30) NULL, si smallint NULL, sd smalldatetime NULL, c char(5) NULL, PRIMARY KEY (k1, k2))`,
	`CREATE TABLE dbo.tall (id int NOT NULL PRIMARY KEY, a1 int NULL, a2 int NULL, a3 int NULL, a4 int NULL, a5 int NULL, a6 int NULL, a7 int NULL, a8 int NULL, note ntext NULL)`,
}

// mixedPlan makes transactions: of one to four statements, over one table or several, of single rows and of many, with keys that
// change, with rollbacks.
type mixedPlan struct {
	rng  *rand.Rand
	next int
	ids  map[string][]int
}

func newMixedPlan(seed uint64) *mixedPlan {
	return &mixedPlan{rng: rand.New(rand.NewPCG(seed, 7)), ids: map[string][]int{}}
}

// transaction is a batch, and whether it is rolled back.
func (p *mixedPlan) transaction() (sql string) {
	var b strings.Builder
	b.WriteString("SET XACT_ABORT ON; BEGIN TRAN; ")
	if p.rng.IntN(20) == 0 { // what this one does to the rows is undone
		fmt.Fprintf(&b, "DELETE dbo.small WHERE id %% 3 = 0; INSERT dbo.tall (id) VALUES (-1); ROLLBACK")
		return b.String()
	}
	for range 1 + p.rng.IntN(4) {
		b.WriteString(p.statement([]string{"small", "wide", "tall"}[p.rng.IntN(3)]) + "; ")
	}
	b.WriteString("COMMIT")
	return b.String()
}

func (p *mixedPlan) statement(table string) string {
	ids := p.ids[table]
	kind := p.rng.IntN(10)
	if len(ids) < 5 {
		kind = 0
	}
	key := "id"
	if table == "wide" {
		key = "k1"
	}
	at := 0
	if len(ids) > 0 {
		at = p.rng.IntN(len(ids))
	}
	switch {
	case kind < 4:
		var rows []string
		for range 1 + p.rng.IntN(3) {
			p.next++
			p.ids[table] = append(p.ids[table], p.next)
			rows = append(rows, "("+p.row(table, p.next)+")")
		}
		return "INSERT dbo." + table + " VALUES " + strings.Join(rows, ", ")
	case kind < 7:
		return fmt.Sprintf("UPDATE dbo.%s SET %s WHERE %s = %d", table, p.set(table), key, ids[at])
	case kind == 7:
		return fmt.Sprintf("UPDATE dbo.%s SET %s WHERE %s IN (%d, %d, %d)", table, p.set(table), key, ids[0], ids[at], ids[len(ids)-1])
	case kind == 8:
		p.next++
		old := ids[at]
		ids[at] = p.next
		return fmt.Sprintf("UPDATE dbo.%s SET %s = %d WHERE %[2]s = %[4]d", table, key, p.next, old)
	default:
		p.ids[table] = append(ids[:at:at], ids[at+1:]...)
		return fmt.Sprintf("DELETE dbo.%s WHERE %s = %d", table, key, ids[at])
	}
}

// or gives NULL now and then.
func (p *mixedPlan) or(format string, args ...any) string {
	if p.rng.IntN(6) == 0 {
		return "NULL"
	}
	return fmt.Sprintf(format, args...)
}

func (p *mixedPlan) instant() string {
	return fmt.Sprintf("2024-%02d-%02dT%02d:%02d:%02d", 1+p.rng.IntN(12), 1+p.rng.IntN(28), p.rng.IntN(24), p.rng.IntN(60), p.rng.IntN(60))
}

func (p *mixedPlan) row(table string, id int) string {
	n := p.rng.IntN
	switch table {
	case "small":
		return strings.Join([]string{fmt.Sprint(id), p.or("%d.%03d", n(1e6)-5e5, n(1000)), p.or("%d.%de%d", n(10), n(1e6), n(40)-20), p.or("N'é名😀 \"%d\\'", n(1e6)),
			p.or("'%s.%06d'", p.instant(), n(1e6)), p.or("0x%08X", n(1<<31)), p.or("N'%s'", strings.Repeat("long ", n(40)))}, ", ")
	case "wide":
		return strings.Join([]string{fmt.Sprint(id), fmt.Sprintf("'k%d'", id%7), p.or("%d", n(2)), p.or("%d", n(256)), p.or("%d", p.rng.Int64()-1<<62), p.or("%d.%04d", n(1e6)-5e5, n(1e4)),
			p.or("%d.%d", n(1000), n(1000)), p.or("'%.10s'", p.instant()), p.or("'%s.%03d'", p.instant()[11:], n(1000)), p.or("'%s.%03d'", p.instant(), n(1000)),
			p.or("'%s.%04d%+03d:30'", p.instant(), n(10000), n(24)-12), p.or("'%08X-0000-4000-8000-%012X'", n(1<<31), n(1<<31)), p.or("'é€%d'", n(1000)), p.or("%d", n(65536)-32768),
			p.or("'%s'", p.instant()[:16]+":00"), p.or("'c%d'", n(1000))}, ", ")
	default:
		cells := []string{fmt.Sprint(id)}
		for range 8 {
			cells = append(cells, p.or("%d", n(1e6)))
		}
		return strings.Join(append(cells, p.or("N'%s'", strings.Repeat("tall ", n(40)))), ", ")
	}
}

// set changes one or two columns.
func (p *mixedPlan) set(table string) string {
	columns := map[string][]string{
		"small": {"n", "f", "s", "at", "bin", "note"},
		"wide":  {"b", "ti", "bi", "m", "r", "d", "t", "dt", "dto", "g", "v", "si", "sd", "c"},
		"tall":  {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "note"},
	}[table]
	skip := 1
	if table == "wide" {
		skip = 2
	}
	cells := strings.Split(p.row(table, 0), ", ")[skip:]
	a, b := p.rng.IntN(len(columns)), p.rng.IntN(len(columns))
	out := columns[a] + " = " + cells[a]
	if a != b {
		out += ", " + columns[b] + " = " + cells[b]
	}
	return out
}
