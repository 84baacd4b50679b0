package merge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
)

// The columns of a stage beside those of the target.
const (
	ColumnSeq   = "__$merge_seq"   // the order of the changes, from 0
	ColumnOp    = "__$merge_op"    // an Op
	ColumnKnown = "__$merge_known" // with a number after it: a bit for each of 30 columns, set where the row knows it
)

// knownBits is how many columns a word of known columns has.
const knownBits = 30

// allKnown is a word of a row that knows everything, the default of the column.
const allKnown = 1<<knownBits - 1

// Op is what a row of a stage does.
type Op uint8

// The operations of rows.
const (
	OpSkip   Op = iota // nothing
	OpUpsert           // makes the row, or changes the columns that it knows
	OpUpdate           // changes the columns that it knows of a row that is there
	OpDelete           // deletes the row
)

// Missing says what an OpUpdate does whose row is not there.
type Missing int

// The choices of Missing.
const (
	MissingError  Missing = iota // it is reported
	MissingIgnore                // nothing
)

// longestKey is how many bytes of key columns a clustered index may be asked for: the server's 900 without the sequence.
const longestKey = 896

// Stage is the temporary table of one session for one target. One goroutine uses it.
type Stage struct {
	target *bulkload.Target
	key    Key
	name   catalog.Name
	place  []int // of each column of the target: its place among those of the stage, -1 if it has none
	words  int
	table  *bulkload.Target
	dirty  bool
	same   string // the condition that rows of the aliases a and b have one key, with their names as %[1]s and %[2]s
	order  string // the key's columns of alias s
}

// NewStage plans a stage. number makes its name unique in the session.
func NewStage(t *bulkload.Target, key Key, number int) (*Stage, error) {
	if len(key.Columns) == 0 {
		return nil, fmt.Errorf("planning changes of %s: %w", t.Name, ErrNoKey)
	}
	s := &Stage{target: t, key: key, name: catalog.Name{Object: "#mssql_merge_" + strconv.Itoa(number)}, place: make([]int, len(t.Columns))}
	columns := 0
	for i := range t.Columns {
		s.place[i] = -1
		if Stageable(&t.Columns[i]) {
			s.place[i] = columns
			columns++
		}
	}
	s.words = (columns + knownBits - 1) / knownBits
	s.describe()
	var same, order []string
	for _, i := range key.Columns {
		q := catalog.Quote(t.Columns[i].Name)
		same = append(same, "%[1]s."+strings.ReplaceAll(q, "%", "%%")+" = %[2]s."+strings.ReplaceAll(q, "%", "%%"))
		order = append(order, "s."+q)
	}
	s.same, s.order = strings.Join(same, " AND "), strings.Join(order, ", ")
	return s, nil
}

// Stageable tells whether rows can carry a value for a column through a temporary table.
func Stageable(c *bulkload.TargetColumn) bool {
	return c.Err == nil && c.Writable() && c.Type.Name != sqltype.CLR
}

// describe makes the description of the temporary table that bulk loads are planned by.
func (s *Stage) describe() {
	column := func(name, typ string, optional bool) bulkload.TargetColumn {
		return bulkload.TargetColumn{Name: name, Type: sqltype.Type{Name: typ}, HasDefault: optional}
	}
	s.table = &bulkload.Target{Name: s.name, Columns: []bulkload.TargetColumn{column(ColumnSeq, "int", false), column(ColumnOp, "tinyint", false)}}
	for n := range s.words {
		s.table.Columns = append(s.table.Columns, column(knownColumn(n), "int", true))
	}
	for i, c := range s.target.Columns {
		if s.place[i] < 0 {
			continue
		}
		c.Type.Nullable, c.HasDefault, c.Identity = !s.key.has(i), false, false
		s.table.Columns = append(s.table.Columns, c)
	}
}

func knownColumn(word int) string { return ColumnKnown + strconv.Itoa(word) }

// Table describes the temporary table, for bulk loads.
func (s *Stage) Table() *bulkload.Target { return s.table }

// Key is the key of the target.
func (s *Stage) Key() Key { return s.key }

// Words is how many words of known columns a row has.
func (s *Stage) Words() int { return s.words }

// KnownColumn is the name of a word of known columns.
func (s *Stage) KnownColumn(word int) string { return knownColumn(word) }

// Known is the word and the bit of a column of the target that rows know.
func (s *Stage) Known(column int) (word int, bit int32, ok bool) {
	p := s.place[column]
	if p < 0 {
		return 0, 0, false
	}
	return p / knownBits, 1 << (p % knownBits), true
}

// create is the statement that makes the temporary table.
func (s *Stage) create() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (%s int NOT NULL, %s tinyint NOT NULL", s.name.Quoted(), catalog.Quote(ColumnSeq), catalog.Quote(ColumnOp))
	for n := range s.words {
		fmt.Fprintf(&b, ", %s int NOT NULL DEFAULT %d", catalog.Quote(knownColumn(n)), allKnown)
	}
	bytes := 0
	for i := range s.target.Columns {
		if s.place[i] < 0 {
			continue
		}
		c := &s.target.Columns[i]
		null := " NULL"
		if s.key.has(i) {
			null = " NOT NULL"
			bytes += max(c.Type.Length, 17)
			if c.Type.Length == sqltype.Max {
				bytes = longestKey + 1
			}
		}
		b.WriteString(", " + catalog.Quote(c.Name) + " " + c.Type.ColumnDeclaration() + null)
	}
	b.WriteString(")")
	if keys := s.key.names(s.target); bytes <= longestKey && len(keys) < 16 {
		fmt.Fprintf(&b, "; CREATE UNIQUE CLUSTERED INDEX k ON %s (%s)", s.name.Quoted(), catalog.QuoteList(append(keys, ColumnSeq)))
	}
	return b.String()
}

// Create makes the temporary table.
func (s *Stage) Create(ctx context.Context, conn *session.Conn) error {
	if err := conn.Batch(ctx, s.create()); err != nil {
		return fmt.Errorf("making a temporary table for %s: %w", s.target.Name, err)
	}
	return nil
}

// Clear takes away the rows of an earlier batch. It comes before the first load of a batch.
func (s *Stage) Clear(ctx context.Context, conn *session.Conn) error {
	if s.dirty {
		if err := conn.Batch(ctx, "TRUNCATE TABLE "+s.name.Quoted()); err != nil {
			return fmt.Errorf("emptying the temporary table for %s: %w", s.target.Name, err)
		}
	}
	s.dirty = true
	return nil
}

// Content is what the caller knows of the rows that it has loaded.
type Content struct {
	Skips, Updates, Deletes bool
	// Distinct tells that no two rows have one key, so that there is nothing to fold.
	Distinct bool
	// Unknown are the columns of the target that some row does not know, Absent those that none does.
	Unknown, Absent map[int]bool
	// Whole has every row updated by one statement, which unique values that rows exchange need. Otherwise rows that know a large
	// column and rows that do not are updated by a statement each, so that no large value is written over itself.
	Whole bool
}

// unknown lists the columns that some rows know and others do not, of those that want chooses.
func (s *Stage) unknown(c *Content, want func(*bulkload.TargetColumn) bool) (out []int) {
	for i := range c.Unknown {
		if s.place[i] >= 0 && !c.Absent[i] && !s.key.has(i) && want(&s.target.Columns[i]) {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}
