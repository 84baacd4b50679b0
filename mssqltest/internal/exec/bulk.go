package exec

import (
	"context"
	"slices"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// BulkColumn is one column of an INSERT BULK statement: the type that the client declared and the column it fills.
type BulkColumn struct {
	Name     string
	Declared value.Type
	Target   value.Type
	Nullable bool
}

// Bulk is a bulk load in progress (MS-TDS 2.2.6.1 Bulk Load BCP): one statement that ends with Finish or Abort.
type Bulk struct {
	r         *run
	in        *inserter
	cols      []BulkColumn
	envs      []value.Env
	tx        *storage.Tx
	own       bool
	keepNulls bool
	checks    bool
	fire      bool
	ended     bool
	end       func()
}

// Bulk starts a bulk load from the text of an INSERT BULK statement.
func (s *Session) Bulk(ctx context.Context, text string) (*Bulk, error) {
	pb, err := s.in.parsed.get(text)
	if err != nil {
		return nil, err
	}
	if len(pb.stmts) != 1 {
		return nil, sqlerr.New(102, "BULK")
	}
	x, ok := pb.stmts[0].(*ast.InsertBulkStatement)
	if !ok {
		return nil, sqlerr.New(102, "BULK")
	}
	ctx, end := s.begin(ctx)
	r := s.newRun(ctx, discard{})
	r.b = pb
	r.try = 1 // errors of triggers come back instead of being reported
	b := &Bulk{r: r, end: end}
	t := &s.tran
	if t.doomed {
		end()
		return nil, sqlerr.New(3930)
	}
	if b.tx = t.tx; b.tx == nil {
		b.tx, b.own = t.newTx(0), true
	}
	b.tx.BeginStatement()
	r.stmt = &statement{tx: b.tx}
	if err := b.prepare(x, pb.mendOf(fragment(x))); err != nil {
		b.Abort()
		return nil, err
	}
	return b, nil
}

func (b *Bulk) prepare(x *ast.InsertBulkStatement, m *mend) error {
	r := b.r
	o, err := r.compiler().nameOf(x.To)
	if err != nil {
		return err
	}
	t, err := r.namedTarget(o, nil)
	if err != nil {
		return err
	}
	if err := r.permitChange(t, "INSERT"); err != nil {
		return err
	}
	if m != nil {
		b.keepNulls = slices.Contains(m.options, "KEEP_NULLS")
		b.checks = slices.Contains(m.options, "CHECK_CONSTRAINTS")
		b.fire = slices.Contains(m.options, "FIRE_TRIGGERS")
		if slices.Contains(m.options, "TABLOCK") && t.t != nil {
			mode := storage.X
			if len(t.def.Indexes) == 0 {
				mode = storage.BU
			}
			if err := r.stmt.tx.LockTable(r.ctx, t.t, mode); err != nil {
				return err
			}
		}
	}
	in := &inserter{r: r, t: t, given: make([]bool, len(t.def.Columns)), identity: t.def.IdentityColumn()}
	if in.rules, err = r.rulesOf(t); err != nil {
		return err
	}
	if !b.checks {
		in.rules.checks = nil
	}
	b.in = in
	c := r.compiler()
	for _, d := range x.ColumnDefinitions {
		name := d.Column.ColumnIdentifier.Value
		i, err := t.column(name)
		if err != nil {
			return sqlerr.New(207, name)
		}
		col := t.def.Columns[i]
		declared := value.Type{ID: value.RowVersion, Len: 8}
		if d.Column.DataType != nil {
			if declared, err = c.typeOf(d.Column.DataType, false); err != nil {
				return err
			}
		}
		if d.Column.Collation != nil {
			if declared.Coll, err = c.lookupCollation(d.Column.Collation.Value); err != nil {
				return err
			}
		} else if isString(declared) && isString(col.Type) {
			declared.Coll = col.Type.Coll
		}
		b.cols = append(b.cols, BulkColumn{Name: col.Name, Declared: declared, Target: col.Type, Nullable: col.Nullable})
		env := r.s.env
		env.Table, env.Column = t.db.Name()+"."+t.name(), col.Name
		b.envs = append(b.envs, env)
		switch {
		case col.Computed != nil || col.Type.ID == value.RowVersion:
			// The client sends it, the server makes its own value. Values of an identity column that is listed are kept.
			in.cols = append(in.cols, -1)
		default:
			in.cols = append(in.cols, i)
			in.given[i] = true
		}
	}
	in.identIns = in.identity >= 0 && in.given[in.identity]
	return nil
}

// Columns are the columns of the statement in order.
func (b *Bulk) Columns() []BulkColumn { return b.cols }

// Row takes one row: a value of the declared type for each column. The rows are written when the load ends.
func (b *Bulk) Row(vals []value.Value) error {
	in := b.in
	if len(vals) != len(b.cols) {
		return sqlerr.New(4804)
	}
	row := make([]value.Value, len(in.t.def.Columns))
	given := make([]bool, len(row))
	copy(given, in.given)
	for i, v := range vals {
		at := in.cols[i]
		if at < 0 {
			continue
		}
		if v.IsNull() {
			if !b.keepNulls && in.rules.defaults[at] != nil {
				given[at] = false
			}
			continue
		}
		c := &b.cols[i]
		n, err := value.Assign(&b.envs[i], v, c.Declared, c.Target)
		if err != nil {
			return err
		}
		row[at] = n
	}
	if err := in.fill(row, given); err != nil {
		return err
	}
	if len(in.changes)%1024 == 0 {
		return b.r.ctx.Err()
	}
	return nil
}

// Finish writes the rows and ends the statement.
func (b *Bulk) Finish(ctx context.Context) (int64, error) {
	if b.ended {
		return 0, nil
	}
	err := b.write()
	tran := &b.r.s.tran
	b.tx.EndStatement(err == nil)
	if b.own {
		switch {
		case tran.tx == b.tx: // a trigger has begun a transaction in it, which stays open
		case err == nil:
			_, err = b.tx.Commit()
		default:
			b.tx.Rollback()
		}
	} else if se := b.r.asSQL(err); se != nil && (b.r.s.opt.XactAbort || se.DoomsTran || tran.doomed) {
		if rerr := tran.rollback(nil); rerr != nil {
			return 0, rerr
		}
	}
	b.ended = true
	b.end()
	n := int64(len(b.in.changes))
	b.r.s.rowCount = n
	if err != nil {
		return 0, err
	}
	return n, nil
}

// write applies the rows with what the options ask for.
func (b *Bulk) write() error {
	in := b.in
	if b.fire {
		if done, err := b.r.insteadOf(in.t, onInsert, in.changes); done || err != nil {
			return err
		}
	}
	if err := in.t.apply(b.r, in.changes); err != nil {
		return err
	}
	if !b.checks && in.t.t != nil && len(in.changes) > 0 {
		in.t.def.Distrust()
	}
	if b.checks {
		if err := b.r.checkForeignKeys(in.t, in.changes, "INSERT"); err != nil {
			return err
		}
	}
	if in.identIns {
		if err := in.noteIdentities(); err != nil {
			return err
		}
	}
	if !b.fire {
		return nil
	}
	return b.r.fireAfter(in.t, onInsert, in.changes)
}

// Fail undoes the load after an error, which under XACT_ABORT, and if it is of that kind, ends the transaction too.
func (b *Bulk) Fail(err error) error {
	b.Abort()
	tran := &b.r.s.tran
	se := b.r.asSQL(err)
	if b.own || tran.count == 0 || !b.r.s.opt.XactAbort && (se == nil || !se.DoomsTran) {
		return nil
	}
	return tran.rollback(nil)
}

// Terminates reports whether 3621 follows an error of the load.
func (b *Bulk) Terminates(err error) bool {
	se := b.r.asSQL(err)
	return se != nil && undoesStatement[se.Number] && !se.EndsBatch && !b.r.s.opt.XactAbort
}

// Abort undoes the load; it may be called after Finish.
func (b *Bulk) Abort() {
	if b.ended {
		return
	}
	b.ended = true
	b.tx.EndStatement(false)
	if b.own {
		b.tx.Rollback()
	}
	b.end()
}
