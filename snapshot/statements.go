package snapshot

import (
	"strconv"
	"strings"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/sqltype"
)

// begin starts a statement that reads the table: its isolation and the proof that
// the server has reached the handover.
func (p *plan) begin(s *request.Statement, b *strings.Builder, handover checkpoint.LSN, iso Isolation) {
	s.Param("@high", "binary(10)", handover[:])
	s.Param("@instance", "nvarchar(128)", p.capture)
	b.WriteString(level(iso))
	if p.capture == "" {
		b.WriteString(sqlProveNothing)
		return
	}
	b.WriteString(sqlProveServer)
}

func level(iso Isolation) string {
	if iso == Snapshot {
		return sqlSnapshot
	}
	return sqlReadCommitted
}

// end closes what begin has opened. The session is left at its own level, so that
// whoever uses it next does not read under SNAPSHOT unknowingly.
func end(s *request.Statement, b *strings.Builder) {
	b.WriteString(sqlEnd)
	b.WriteString(sqlReadCommitted)
	s.Text = b.String()
}

// page is the statement for the first n rows after one key and up to another.
func (p *plan) page(after, upto Key, handover checkpoint.LSN, n int, iso Isolation) (request.Statement, error) {
	var s request.Statement
	var b strings.Builder
	p.begin(&s, &b, handover, iso)
	s.Param("@n", "int", int64(n))
	if err := p.bounds(&s, after, upto); err != nil {
		return request.Statement{}, err
	}
	if !after.IsZero() && !upto.IsZero() {
		b.WriteString(p.firstDifference())
	}
	for _, k := range p.seeks(!after.IsZero(), !upto.IsZero()) {
		b.WriteString("IF @n > 0")
		if k.guard != "" {
			b.WriteString(" AND " + k.guard)
		}
		b.WriteString("\nBEGIN\nSELECT TOP (@n) " + p.list + ", " + p.keyList + p.from(k.where, true) +
			"\nORDER BY " + p.order + " OPTION (MAXDOP 1);\nSET @n = @n - @@ROWCOUNT;\nEND\n")
	}
	end(&s, &b)
	return s, nil
}

func (p *plan) bounds(s *request.Statement, after, upto Key) error {
	if !after.IsZero() {
		if err := p.bind(s, "@a", after); err != nil {
			return err
		}
	}
	if !upto.IsZero() {
		return p.bind(s, "@u", upto)
	}
	return nil
}

// bound is the statement for the n-th key after one, or the last of all when
// there are fewer. The filter plays no part: a chunk is n rows to go over, however
// few of them are wanted.
func (p *plan) bound(after Key, handover checkpoint.LSN, n int, iso Isolation) (request.Statement, error) {
	var s request.Statement
	var b strings.Builder
	p.begin(&s, &b, handover, iso)
	s.Param("@n", "int", int64(n))
	if err := p.bounds(&s, after, Key{}); err != nil {
		return request.Statement{}, err
	}
	b.WriteString("DECLARE @got int = 0, @count int;\n")
	seeks := p.seeks(!after.IsZero(), false)
	for i, k := range seeks {
		b.WriteString("IF @got = 0\nBEGIN\nSELECT " + p.keyList + p.from(k.where, false) + "\nORDER BY " + p.order +
			" OFFSET @n - 1 ROWS FETCH NEXT 1 ROW ONLY OPTION (MAXDOP 1);\nSET @got = @@ROWCOUNT;\nEND\n")
		if i == len(seeks)-1 {
			break
		}
		// The stretch has fewer rows: the rest is counted in the next one. Should
		// rows have come meanwhile, the chunk is another size, which does no harm.
		b.WriteString("IF @got = 0\nBEGIN\nSELECT @count = COUNT(*)" + p.from(k.where, false) + " OPTION (MAXDOP 1);\n" +
			"SET @n = CASE WHEN @count < @n THEN @n - @count ELSE 1 END;\nEND\n")
	}
	b.WriteString("IF @got = 0\nSELECT TOP (1) " + p.keyList + p.from("", false) + "\nORDER BY " + p.reverse + " OPTION (MAXDOP 1);\n" +
		"SELECT @got AS [got];\n")
	end(&s, &b)
	return s, nil
}

// exactText is the statement for the exact text of one cell of the row with a
// key.
func (p *plan) exactText(column string, variant bool, k Key, iso Isolation) (request.Statement, error) {
	s := request.Statement{Text: level(iso)}
	if err := p.bind(&s, "@a", k); err != nil {
		return request.Statement{}, err
	}
	expr := sqltype.ExactText(column)
	if variant {
		expr = exactVariant(column)
	}
	last := len(p.key) - 1
	s.Text += "SELECT " + expr + p.from(p.where("@a", last, p.key[last].expr+" = "+p.operand("@a", last)), false) + " OPTION (MAXDOP 1);\n" + sqlReadCommitted
	return s, nil
}

// check is the statement that tries the select list and the filter without reading
// rows: the server checks rights and names before it runs anything.
func (p *plan) check() request.Statement {
	return request.Statement{Text: "SELECT TOP (0) " + p.list + p.from("", true)}
}

// keyName is the name that the select list gives to a column of the key.
func keyName(i int) string { return "k" + strconv.Itoa(i) }
