package exec

import (
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// selectStatement is SELECT: a result set, an assignment, or a new table.
func (r *run) selectStatement(x *ast.SelectStatement) error {
	n, assign := int64(0), false
	if err := r.optimizerHints(x.OptimizerHints); err != nil {
		return err
	}
	defer func() { r.recursion = 0 }()
	body := func() error {
		q, err := r.compiler().selectQuery(x, nil, topQuery)
		if err != nil {
			return err
		}
		if assign = q.assign; assign {
			if x.Into != nil {
				return sqlerr.New(194)
			}
			err := q.run(r, nil, nil)
			n = r.assigned
			return err
		}
		if x.Into != nil {
			n, err = r.selectInto(x.Into, q)
			return err
		}
		if r.inFunc {
			return sqlerr.New(444)
		}
		n, err = r.send(q)
		return err
	}
	var err error
	if x.Into != nil {
		err = r.change(body)
	} else {
		err = r.atomic(body)
	}
	if err != nil {
		return err
	}
	if assign {
		r.s.rowCount, r.s.lastError = n, 0
		return nil
	}
	cmd := CmdSelect
	if x.Into != nil {
		cmd = CmdSelectInt
	}
	return r.done(cmd, n, true)
}

// optimizerHints takes OPTION (…); only MAXRECURSION means something here.
func (r *run) optimizerHints(hints []ast.OptimizerHintBase) error {
	for _, h := range hints {
		l, ok := h.(*ast.LiteralOptimizerHint)
		if !ok || l.HintKind != "MaxRecursion" {
			continue
		}
		if v, ok := l.Value.(*ast.IntegerLiteral); ok {
			n, err := strconv.Atoi(v.Value)
			if err != nil || n > 32767 {
				return sqlerr.New(310, v.Value)
			}
			if r.recursion = n; n == 0 {
				r.recursion = -1
			}
		}
	}
	return nil
}

// send gives a query's rows to the sink; FMTONLY sends the columns alone.
func (r *run) send(q *query) (int64, error) {
	if err := r.sink.Columns(q.cols); err != nil {
		return 0, err
	}
	if r.s.opt.FmtOnly {
		return 0, nil
	}
	n, most := int64(0), r.s.opt.RowCount
	count := func() error {
		r.stmt.returned++
		if n++; most > 0 && n >= most {
			return errStop
		}
		if n%64 == 0 {
			return r.ctx.Err()
		}
		return nil
	}
	if to, ok := r.sink.(StoredRows); ok && q.level != nil {
		if cols, plain := q.level.plain(); plain {
			q.level.toSink = func(row *storage.Row) (bool, error) {
				taken, err := to.StoredRow(row, cols)
				if taken && err == nil {
					err = count()
				}
				return taken, err
			}
		}
	}
	err := q.run(r, nil, func(row []rowValue) error {
		if err := r.sink.Row(row); err != nil {
			return err
		}
		return count()
	})
	if err == errStop {
		err = nil
	}
	return n, err
}

// selectInto is SELECT … INTO: a new table of the query's columns.
func (r *run) selectInto(name *ast.SchemaObjectName, q *query) (int64, error) {
	c := r.compiler()
	o, err := c.nameOf(name)
	if err != nil {
		return 0, err
	}
	def := &storage.TableDef{ObjectHeader: storage.ObjectHeader{Schema: o.schema, Name: o.name, Type: "U"}}
	identity := false
	for i, col := range q.cols {
		if col.Name == "" {
			return 0, sqlerr.New(1038)
		}
		for j := range i {
			if c.same(q.cols[j].Name, col.Name) {
				return 0, sqlerr.New(2705, col.Name, o.name)
			}
		}
		t := col.Type
		if t.Name != "" && t.ID != value.CLR {
			t.Name = ""
		}
		sc := &storage.Column{ID: i + 1, Name: col.Name, Type: t, Nullable: col.Nullable}
		if col.Identity && !identity {
			identity = true
			sc.Identity = &storage.Identity{Seed: 1, Increment: 1}
		}
		if t.ID == value.RowVersion {
			sc.Nullable = false
		}
		def.Columns = append(def.Columns, sc)
	}
	t, err := r.createTable(o, def)
	if err != nil {
		return 0, err
	}
	tg := &target{t: t, def: t.Def(), db: o.db, cols: columnsOf(t.Def())}
	var changes []storage.Change
	err = q.run(r, nil, func(row []rowValue) error {
		vals := append([]value.Value(nil), row...)
		for i, col := range def.Columns {
			if col.Type.ID == value.RowVersion {
				vals[i] = tg.rowVersion()
			}
			if col.Identity != nil && !vals[i].IsNull() {
				if v, err := value.Convert(nil, vals[i], col.Type, typeBigInt, 0); err == nil {
					t.NoteIdentity(v.Int())
				}
			}
		}
		changes = append(changes, storage.Change{New: vals})
		if len(changes)%1024 == 0 {
			return r.ctx.Err()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return int64(len(changes)), tg.apply(r, changes)
}
