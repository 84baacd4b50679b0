package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

var bg = context.Background()

func num(n int) value.Value     { return value.NewInt(value.Int, int64(n)) }
func text(s string) value.Value { return value.NewNVarChar(s) }

// testDB is a database with table dbo.t(id int primary key, a int, b nvarchar(20)), tracked, with a unique index on a where
// it is not null, and an index on b.
type testDB struct {
	*testing.T
	in *Instance
	db *Database
	t  *Table
}

const (
	byKey = 0
	byA   = 1
	byB   = 2
)

func tableDef(name string) *TableDef {
	return &TableDef{
		ObjectHeader: ObjectHeader{Schema: "dbo", Name: name, Type: "U"},
		Columns: []*Column{
			{Name: "id", Type: value.Type{ID: value.Int}},
			{Name: "a", Type: value.Type{ID: value.Int}, Nullable: true},
			{Name: "b", Type: value.Type{ID: value.NVarChar, Len: 20}, Nullable: true},
		},
		Indexes: []*IndexDef{
			{ID: 1, Name: "pk", Unique: true, Clustered: true, PrimaryKey: true, Columns: []IndexColumn{{Column: 0}}},
			{ID: 2, Name: "ua", Unique: true, Columns: []IndexColumn{{Column: 1}}, FilterText: "a is not null",
				Filter: func(v []value.Value) bool { return !v[1].IsNull() }},
			{ID: 3, Name: "ib", Columns: []IndexColumn{{Column: 2, Desc: true}}},
		},
		TrackedByCDC: true,
	}
}

func newTestDB(t *testing.T, rows ...string) *testDB {
	t.Helper()
	in := NewInstance(Options{})
	db, err := in.CreateDatabase("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &testDB{T: t, in: in, db: db}
	tx := in.Begin(TxOptions{})
	if d.t, err = tx.CreateTable(db, tableDef("t")); err != nil {
		t.Fatal(err)
	}
	d.insert(tx, rows...)
	d.commit(tx)
	return d
}

func (d *testDB) begin(i Isolation) *Tx { return d.in.Begin(TxOptions{Isolation: i}) }

func (d *testDB) commit(tx *Tx) LSN {
	d.Helper()
	lsn, err := tx.Commit()
	if err != nil {
		d.Fatal(err)
	}
	return lsn
}

// parse reads "1,2,x" with "-" for NULL.
func parse(s string) []value.Value {
	f := strings.Split(s, ",")
	vals := make([]value.Value, 3)
	for i, x := range f {
		if x == "-" || x == "" {
			continue
		}
		if i == 2 {
			vals[i] = text(x)
			continue
		}
		n := 0
		fmt.Sscan(x, &n)
		vals[i] = num(n)
	}
	return vals
}

func show(r *Row) string {
	f := make([]string, len(r.Vals))
	for i, v := range r.Vals {
		switch {
		case v.IsNull():
			f[i] = "-"
		case v.ID() == value.NVarChar:
			f[i] = v.Str()
		default:
			f[i] = fmt.Sprint(v.Int())
		}
	}
	return strings.TrimRight(strings.Join(f, ","), ",-")
}

func (d *testDB) insert(tx *Tx, rows ...string) {
	d.Helper()
	if err := d.tryInsert(tx, rows...); err != nil {
		d.Fatalf("inserting %v: %v", rows, err)
	}
}

func (d *testDB) tryInsert(tx *Tx, rows ...string) error {
	var ch []Change
	for _, r := range rows {
		ch = append(ch, Change{New: parse(r)})
	}
	return d.apply(tx, ch)
}

func (d *testDB) apply(tx *Tx, ch []Change) error {
	tx.BeginStatement()
	_, err := tx.Apply(bg, d.t, ch)
	tx.EndStatement(err == nil)
	return err
}

// update changes each row by f; a nil result deletes it, the same slice leaves it.
func (d *testDB) update(ctx context.Context, tx *Tx, r Range, f func(v []value.Value) []value.Value) error {
	tx.BeginStatement()
	err := d.updateRows(ctx, tx, r, f)
	tx.EndStatement(err == nil)
	return err
}

func (d *testDB) updateRows(ctx context.Context, tx *Tx, r Range, f func(v []value.Value) []value.Value) error {
	var ch []Change
	for row, err := range tx.Scan(ctx, d.t, byKey, r, Access{ForUpdate: true}) {
		if err != nil {
			return err
		}
		n := f(slices.Clone(row.Vals))
		if n != nil && slices.Equal(n, row.Vals) {
			tx.Unlock(d.t, row)
			continue
		}
		ch = append(ch, Change{Old: row, New: n})
	}
	_, err := tx.Apply(ctx, d.t, ch)
	return err
}

func (d *testDB) setA(tx *Tx, id, a int) error {
	return d.update(bg, tx, d.key(id), func(v []value.Value) []value.Value {
		v[1] = num(a)
		return v
	})
}

func (d *testDB) delete(tx *Tx, id int) error {
	return d.update(bg, tx, d.key(id), func([]value.Value) []value.Value { return nil })
}

func (d *testDB) key(id int) Range {
	def := d.t.Def()
	return Prefix(def.Indexes[byKey].AppendKey(nil, def, num(id)))
}

// read reads rows as one statement.
func (d *testDB) read(tx *Tx, index int, r Range, a Access) ([]string, error) {
	return d.readCtx(bg, tx, index, r, a)
}

func (d *testDB) readCtx(ctx context.Context, tx *Tx, index int, r Range, a Access) ([]string, error) {
	tx.BeginStatement()
	defer tx.EndStatement(true)
	var out []string
	for row, err := range tx.Scan(ctx, d.t, index, r, a) {
		if err != nil {
			return out, err
		}
		out = append(out, show(row))
	}
	return out, nil
}

// wantRows checks what a transaction reads in key order.
func (d *testDB) wantRows(tx *Tx, hint Hint, want ...string) {
	d.Helper()
	got, err := d.read(tx, byKey, Range{}, Access{Hint: hint})
	if err != nil || !slices.Equal(got, want) {
		d.Fatalf("rows are %q (%v), want %q", got, err, want)
	}
}

// wantCommitted checks the latest Root and that all indexes of both states agree with it.
func (d *testDB) wantCommitted(want ...string) {
	d.Helper()
	var got []string
	for r := range d.db.Root().Rows(d.t) {
		got = append(got, show(r))
	}
	if !slices.Equal(got, want) {
		d.Fatalf("committed rows are %q, want %q", got, want)
	}
	d.checkTrees()
}

// checkTrees checks that both states are equal, without ghosts, and that every index has exactly the rows it should have.
func (d *testDB) checkTrees() {
	d.Helper()
	c := d.t.core
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.current.trees {
		a, b := c.current.trees[i].Items(), c.committed.store.trees[i].Items()
		if !slices.Equal(a, b) {
			d.Fatalf("tree %d: current has %d entries, committed %d, or they differ", i, len(a), len(b))
		}
		n := 0
		for _, it := range c.current.trees[0].Items() {
			k, ok := c.current.key(nil, i, it.row)
			if !ok {
				continue
			}
			n++
			if row, found := c.current.get(i, string(k)); !found || row != it.row {
				d.Fatalf("tree %d lacks row %s", i, show(it.row))
			}
		}
		if n != len(a) {
			d.Fatalf("tree %d has %d entries, want %d", i, len(a), n)
		}
	}
}

func wantNumber(t testing.TB, err error, number int32) {
	t.Helper()
	var se *sqlerr.Error
	if !errors.As(err, &se) || se.Number != number {
		t.Fatalf("error is %v, want number %d", err, number)
	}
}

func wantNoLocks(t testing.TB, in *Instance) {
	t.Helper()
	if l := in.Locks(); len(l) > 0 {
		t.Fatalf("locks left: %+v", l)
	}
	if o := in.OpenTransactions(); len(o) > 0 {
		t.Fatalf("transactions left: %+v", o)
	}
}
