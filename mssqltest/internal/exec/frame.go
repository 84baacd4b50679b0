package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// frame is where one query level keeps its current row while it runs: one slice of values per table of its scope, in
// the order of scope.tables, and the slots of aggregates and window functions. A correlated subquery has its own frame,
// whose outer is this one.
type frame struct {
	r      *run
	outer  *frame
	rows   [][]value.Value
	slots  []value.Value
	stored *storage.Row // of the table that was scanned last
}

// evalFunc computes an expression on the current row.
type evalFunc func(f *frame) (value.Value, error)

// tri is a truth value of SQL.
type tri int8

const (
	no tri = iota
	yes
	unknown
)

func triOf(b bool) tri {
	if b {
		return yes
	}
	return no
}

// predFunc computes a condition on the current row.
type predFunc func(f *frame) (tri, error)

// collKind is how strongly an expression insists on its collation.
type collKind uint8

const (
	collDefault  collKind = iota // literals, variables: coercible
	collImplicit                 // columns
	collExplicit                 // COLLATE
)

// expr is a compiled scalar expression.
type expr struct {
	typ      value.Type
	nullable bool
	eval     evalFunc
	coll     collKind
	json     bool // a text that is JSON, which FOR JSON does not quote
	// deps has a bit for each table of the scope that the expression reads; volatile ones are never moved.
	deps     uint64
	volatile bool
	// lit marks a constant, whose value is val.
	lit bool
	val value.Value
	// col is set for a plain column of the scope itself.
	col *colRef
}

// colRef is a column of a table of the scope.
type colRef struct{ table, col int }

func constant(v value.Value, t value.Type) *expr {
	return &expr{typ: t, nullable: v.IsNull(), lit: true, val: v, eval: func(*frame) (value.Value, error) { return v, nil }}
}

func nullOf(t value.Type) *expr { return constant(value.Value{}, t) }

// pred is a compiled condition with what it reads.
type pred struct {
	test     predFunc
	deps     uint64
	volatile bool
	// For a comparison of two expressions: what seeks and hash joins need.
	op          string // "=", "<", "<=", ">", ">=", "" for anything else
	left, right *expr
	in          []*expr // x IN (list): op is "in", left is x
	key         value.Type
}
