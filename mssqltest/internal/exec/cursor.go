package exec

import (
	"maps"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// cursor is a T-SQL cursor. All of its rows are read when it is opened, as those of a static cursor are.
type cursor struct {
	name   string
	query  *ast.SelectStatement
	vars   map[string]*variable // as they were when the cursor was declared
	db     *run                 // the run that declared it: its database and temporary tables
	scroll bool

	open bool
	cols []Column
	rows [][]value.Value
	at   int // position of the row that was fetched last, from 1
}

// cursorStatement finds how to run DECLARE CURSOR, OPEN, FETCH, CLOSE and DEALLOCATE.
func (r *run) cursorStatement(st ast.Statement) (func() error, bool) {
	switch x := st.(type) {
	case *ast.DeclareCursorStatement:
		return func() error { return r.declareCursor(x) }, true
	case *ast.OpenCursorStatement:
		return func() error { return r.onCursor(x.Cursor, r.openCursor) }, true
	case *ast.FetchCursorStatement:
		return func() error { return r.onCursor(x.Cursor, func(c *cursor) error { return r.fetch(x, c) }) }, true
	case *ast.CloseCursorStatement:
		return func() error {
			return r.onCursor(x.Cursor, func(c *cursor) error {
				if !c.open {
					return sqlerr.New(16917)
				}
				c.close()
				return nil
			})
		}, true
	case *ast.DeallocateCursorStatement:
		return func() error { return r.deallocate(x.Cursor) }, true
	}
	return nil, false
}

// cursorOf makes a closed cursor of its definition.
func (r *run) cursorOf(name string, d *ast.CursorDefinition) (c *cursor, local bool, err error) {
	if d == nil || d.Select == nil {
		return nil, false, near102("CURSOR")
	}
	c = &cursor{name: name, query: d.Select, db: r, vars: map[string]*variable{}}
	for _, o := range d.Options {
		switch strings.ToUpper(o.OptionKind) {
		case "LOCAL":
			local = true
		case "SCROLL", "STATIC", "KEYSET", "INSENSITIVE", "DYNAMIC":
			c.scroll = true
		}
	}
	for _, o := range d.Options {
		if k := strings.ToUpper(strings.ReplaceAll(o.OptionKind, "_", "")); k == "FORWARDONLY" || k == "FASTFORWARD" || k == "INSENSITIVE" && len(d.Options) == 1 {
			c.scroll = false
		}
	}
	for k, v := range r.vars {
		cp := *v
		c.vars[k] = &cp
	}
	return c, local, nil
}

func (r *run) declareCursor(x *ast.DeclareCursorStatement) error {
	c, local, err := r.cursorOf(x.Name.Value, x.CursorDefinition)
	if err != nil {
		return err
	}
	key := strings.ToLower(c.name)
	if local {
		if r.cursors[key] != nil {
			return sqlerr.New(16915, c.name)
		}
		if r.cursors == nil {
			r.cursors = map[string]*cursor{}
		}
		r.cursors[key] = c
		return nil
	}
	if r.s.cursors[key] != nil {
		return sqlerr.New(16915, c.name)
	}
	r.s.cursors[key] = c
	return nil
}

// cursorNamed finds a cursor: that of a variable, a local one of the run, a global one.
func (r *run) cursorNamed(id *ast.CursorId) (*cursor, error) {
	name := ""
	if n := id.Name; n != nil {
		switch {
		case n.Identifier != nil:
			name = n.Identifier.Value
		case n.ValueExpression != nil:
			v, ok := n.ValueExpression.(*ast.VariableReference)
			if !ok {
				return nil, near102("CURSOR")
			}
			name = v.Name
		default:
			name = n.Value
		}
	}
	if strings.HasPrefix(name, "@") {
		v := r.lookup(name)
		switch {
		case v == nil || !v.isCursor:
			return nil, sqlerr.New(137, name)
		case v.cursor == nil:
			return nil, sqlerr.New(16950, name)
		}
		return v.cursor, nil
	}
	key := strings.ToLower(name)
	if c := r.cursors[key]; c != nil && !id.IsGlobal {
		return c, nil
	}
	if c := r.s.cursors[key]; c != nil {
		return c, nil
	}
	return nil, sqlerr.New(16916, name)
}

func (r *run) onCursor(id *ast.CursorId, fn func(*cursor) error) error {
	c, err := r.cursorNamed(id)
	if err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	r.s.lastError = 0
	return nil
}

// openCursor reads the rows. The variables of the query have the values that they had when the cursor was declared.
func (r *run) openCursor(c *cursor) error {
	if c.open {
		return sqlerr.New(16905)
	}
	in := r.nested(discard{})
	in.vars, in.proc, in.procID, in.b, in.db, in.trig = c.vars, c.db.proc, c.db.procID, c.db.b, c.db.db, c.db.trig
	c.rows = nil
	err := in.atomicRead(func() error {
		q, err := in.compiler().selectQuery(c.query, nil, topQuery)
		if err != nil {
			return err
		}
		c.cols = q.cols
		return q.run(in, nil, func(row []rowValue) error {
			c.rows = append(c.rows, slices.Clone(row))
			return r.ctx.Err()
		})
	})
	if err != nil {
		return err
	}
	c.open, c.at = true, 0
	r.s.cursorRows = int64(len(c.rows))
	return nil
}

func (c *cursor) close() { c.open, c.rows, c.at = false, nil, 0 }

// fetch is FETCH: into variables, or as a result set of one row.
func (r *run) fetch(x *ast.FetchCursorStatement, c *cursor) error {
	if !c.open {
		return sqlerr.New(16917)
	}
	way, n := "NEXT", int64(0)
	if t := x.FetchType; t != nil && t.Orientation != "" {
		way = strings.ToUpper(t.Orientation)
		if t.RowOffset != nil {
			v, err := r.evalTo(t.RowOffset, typeBigInt)
			if err != nil {
				return err
			}
			n = v.Int()
		}
	}
	if way != "NEXT" && !c.scroll {
		return sqlerr.New(16911, "fetch", strings.ToLower(way))
	}
	c.move(way, n)
	r.s.fetchStatus = -1
	var row []value.Value
	if c.at >= 1 && c.at <= len(c.rows) {
		r.s.fetchStatus, row = 0, c.rows[c.at-1]
	}
	if len(x.IntoVariables) == 0 {
		return r.sendFetched(c, row)
	}
	if len(x.IntoVariables) != len(c.cols) {
		return sqlerr.New(16924)
	}
	if row == nil {
		return nil
	}
	for i, n := range x.IntoVariables {
		ref, ok := n.(*ast.VariableReference)
		if !ok {
			return near102("INTO")
		}
		v := r.lookup(ref.Name)
		if v == nil || v.table != nil {
			return sqlerr.New(137, ref.Name)
		}
		var err error
		if v.val, err = value.AssignVar(&r.s.env, row[i], c.cols[i].Type, v.typ); err != nil {
			return err
		}
	}
	return nil
}

// move goes to the row that a fetch asks for: 0 is before the first, one more than there are behind the last.
func (c *cursor) move(way string, n int64) {
	last := len(c.rows)
	switch way {
	case "NEXT":
		c.at++
	case "PRIOR":
		c.at--
	case "FIRST":
		c.at = 1
	case "LAST":
		c.at = last
	case "RELATIVE":
		c.at += int(n)
	case "ABSOLUTE":
		if c.at = int(n); n < 0 {
			c.at = last + 1 + int(n)
		}
	}
	c.at = min(max(c.at, 0), last+1)
}

func (r *run) sendFetched(c *cursor, row []value.Value) error {
	if err := r.sink.Columns(c.cols); err != nil {
		return err
	}
	n := int64(0)
	if row != nil {
		n = 1
		if err := r.sink.Row(row); err != nil {
			return err
		}
	}
	return r.done(CmdSelect, n, true)
}

func (r *run) deallocate(id *ast.CursorId) error {
	c, err := r.cursorNamed(id)
	if err != nil {
		return err
	}
	gone := func(_ string, other *cursor) bool { return other == c }
	maps.DeleteFunc(r.cursors, gone)
	maps.DeleteFunc(r.s.cursors, gone)
	for _, v := range r.vars {
		if v.cursor == c {
			v.cursor = nil
		}
	}
	c.close()
	return nil
}

// setCursor is SET @c = CURSOR FOR …, and SET @c = name of a cursor.
func (r *run) setCursor(v *variable, x *ast.SetVariableStatement) error {
	if x.CursorDefinition != nil {
		c, _, err := r.cursorOf(v.name, x.CursorDefinition)
		v.cursor = c
		return err
	}
	id := &ast.CursorId{Name: &ast.IdentifierOrValueExpression{}}
	switch n := x.Expression.(type) {
	case *ast.ColumnReferenceExpression:
		if n.MultiPartIdentifier != nil {
			id.Name.Value = joinNames(n.MultiPartIdentifier.Identifiers)
		}
	case *ast.VariableReference:
		id.Name.Value = n.Name
	}
	c, err := r.cursorNamed(id)
	v.cursor = c
	return err
}

// cursorStatus is CURSOR_STATUS: 1 open with rows, 0 open without, -1 closed, -2 a variable without a cursor, -3 no such cursor.
func (r *run) cursorStatus(args []value.Value) (value.Value, error) {
	status := int64(-3)
	var c *cursor
	name := strings.ToLower(args[1].Str())
	switch strings.ToLower(args[0].Str()) {
	case "local":
		c = r.cursors[name]
	case "global":
		c = r.s.cursors[name]
	case "variable":
		if v := r.lookup(name); v != nil && v.isCursor {
			status, c = -2, v.cursor
		}
	}
	switch {
	case c == nil:
	case !c.open:
		status = -1
	case len(c.rows) == 0:
		status = 0
	default:
		status = 1
	}
	return value.NewInt(value.SmallInt, status), nil
}
