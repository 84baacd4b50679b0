package changetable

import (
	"database/sql/driver"
	"slices"
	"strings"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/sqltype"
)

// normalOrder is the clustered index of a change table since __$command_id
// exists. With it a page may end inside a transaction.
var normalOrder = []string{colStartLSN, colCommandID, colSeqVal, colOperation}

// plan is what is fixed about the statements of one instance.
type plan struct {
	table   string // schema.table, for errors
	capture string
	object  string // the change table, quoted
	columns []catalog.Column
	result  []rowset.Column // captured columns and change columns
	list    string          // the select list of result
	order   string          // ORDER BY in the clustered index's own order
	whole   bool            // pages never end inside an LSN
	command bool            // there is a __$command_id

	pages [Snapshot + 1][2]request.Statement // made once: by isolation, and inside of a transaction or not
}

func newPlan(inst *catalog.Instance) *plan {
	p := &plan{
		table: inst.Source.String(), capture: inst.Capture, object: inst.ChangeTable.Quoted(),
		command: inst.HasCommandID,
	}
	if inst.Source.Object == "" {
		p.table = "capture instance " + inst.Capture
	}
	var list []string
	for _, c := range inst.Columns {
		// A computed column is NULL in every change, whatever the table has.
		if c.Computed {
			continue
		}
		p.columns = append(p.columns, c)
		p.result = append(p.result, rowset.Column{Name: c.Name, Type: c.Type})
		list = append(list, c.Type.SelectList("t."+catalog.Quote(c.Name))...)
	}
	for _, c := range changeColumns {
		p.result = append(p.result, c)
		if c.Name == colCommandID && !p.command {
			list = append(list, "CAST(NULL AS int)")
			continue
		}
		list = append(list, "t."+catalog.Quote(c.Name))
	}
	p.list = strings.Join(list, ", ")

	order := inst.Order
	switch {
	case slices.Equal(order, normalOrder):
	case len(order) == 0 && p.command:
		order = normalOrder // a heap: the server sorts
	case len(order) == 0:
		order, p.whole = []string{colStartLSN, colSeqVal, colOperation}, true
	default:
		p.whole = true
	}
	if order[0] != colStartLSN {
		order = append([]string{colStartLSN}, slices.DeleteFunc(slices.Clone(order), func(s string) bool { return s == colStartLSN })...)
	}
	quoted := make([]string, len(order))
	for i, name := range order {
		quoted[i] = "t." + catalog.Quote(name)
	}
	p.order = strings.Join(quoted, ", ")
	return p
}

// changeColumns follow the captured columns in every record.
var changeColumns = []rowset.Column{
	{Name: colStartLSN, Type: sqltype.Type{Name: "binary", Length: 10}},
	{Name: colCommandID, Type: sqltype.Type{Name: "int", Nullable: true}},
	{Name: colSeqVal, Type: sqltype.Type{Name: "binary", Length: 10}},
	{Name: colOperation, Type: sqltype.Type{Name: "int"}},
	{Name: colUpdateMask, Type: sqltype.Type{Name: "varbinary", Length: 128, Nullable: true}},
}

// page is the statement for the changes after from, up to high. Inside a
// transaction it consists of separate seeks, each an equality on a prefix of the
// clustered index and one range after it; a single condition with ORs would read
// the transaction from its beginning for every page.
func (p *plan) page(from checkpoint.Position, high checkpoint.LSN, n int, iso Isolation) request.Statement {
	kept := &p.pages[iso][btoi(from.Done)]
	if kept.Text == "" {
		*kept = p.pageText(from.Done, iso)
	}
	s := *kept
	s.Args = []driver.Value{high[:], int64(n), from.LSN[:]}
	if !from.Done {
		s.Args = append(s.Args, int64(from.CommandID), from.SeqVal[:], int64(from.Operation))
	}
	return s
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pageText is the statement of page without its values.
func (p *plan) pageText(done bool, iso Isolation) request.Statement {
	s := request.Statement{Decl: "@high binary(10), @n int, @lsn binary(10)"}
	seeks := []string{"t.[__$start_lsn] > @lsn AND t.[__$start_lsn] <= @high"}
	if !done {
		s.Decl += ", @cmd int, @seq binary(10), @op int"
		const lsn, cmd, seq = "t.[__$start_lsn] = @lsn", " AND t.[__$command_id] = @cmd", " AND t.[__$seqval] = @seq"
		seeks = []string{
			lsn + cmd + seq + " AND t.[__$operation] > @op",
			lsn + cmd + " AND t.[__$seqval] > @seq",
			lsn + " AND t.[__$command_id] > @cmd",
			seeks[0],
		}
	}
	var b strings.Builder
	p.begin(&b, iso)
	for i, where := range seeks {
		if i > 0 {
			b.WriteString("SET @n = @n - @@ROWCOUNT;\nIF @n > 0\n")
		}
		p.selectRows(&b, "TOP (@n) ", where, iso)
	}
	b.WriteString(sqlEnd)
	s.Text = b.String()
	return s
}

// transaction is the statement for all changes of one LSN.
func (p *plan) transaction(lsn, high checkpoint.LSN, iso Isolation) request.Statement {
	var s request.Statement
	s.Param("@high", "binary(10)", high[:])
	s.Param("@lsn", "binary(10)", lsn[:])
	var b strings.Builder
	p.begin(&b, iso)
	p.selectRows(&b, "", "t.[__$start_lsn] = @lsn", iso)
	b.WriteString(sqlEnd)
	s.Text = b.String()
	return s
}

func (p *plan) begin(b *strings.Builder, iso Isolation) {
	if iso == Snapshot {
		b.WriteString(sqlSnapshot)
	}
	b.WriteString(sqlProveServer)
}

func (p *plan) selectRows(b *strings.Builder, top, where string, iso Isolation) {
	b.WriteString("SELECT " + top + p.list + "\nFROM " + p.object + " AS t" + hint(iso) +
		"\nWHERE " + where + "\nORDER BY " + p.order + " OPTION (MAXDOP 1);\n")
}

// exact is the statement for the exact text of one cell.
func (p *plan) exact(column int, k rowKey, iso Isolation) request.Statement {
	c := p.result[column]
	name := "t." + catalog.Quote(c.Name)
	expr := sqltype.ExactText(name)
	if c.Type.Kind() == sqltype.Variant {
		// A variant converts to no (max) type, and holds no more than this.
		expr = "CONVERT(varbinary(8000), CONVERT(nvarchar(4000), " + name + "))"
	}
	var s request.Statement
	s.Param("@lsn", "binary(10)", k.lsn[:])
	s.Param("@seq", "binary(10)", k.seq[:])
	s.Param("@op", "int", int64(k.op))
	where := "t.[__$start_lsn] = @lsn AND t.[__$seqval] = @seq AND t.[__$operation] = @op"
	switch {
	case p.command && k.noCommand:
		where += " AND t.[__$command_id] IS NULL"
	case p.command:
		s.Param("@cmd", "int", int64(k.cmd))
		where += " AND t.[__$command_id] = @cmd"
	}
	if iso == Snapshot {
		s.Text = sqlSnapshot
	}
	s.Text += "SELECT TOP (1) " + expr + " FROM " + p.object + " AS t" + hint(iso) + " WHERE " + where + " OPTION (MAXDOP 1)"
	return s
}

func hint(iso Isolation) string {
	if iso == NoLock {
		return " WITH (NOLOCK)"
	}
	return ""
}
