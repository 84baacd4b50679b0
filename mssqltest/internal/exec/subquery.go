package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// nested compiles a subquery and tells whether its result is the same for all rows of the statement.
func (sc *scope) nested(n ast.QueryExpression, kind queryKind) (q *query, fixed bool, err error) {
	levels := 0
	saved := map[*scope]uint64{}
	for s := sc; s != nil; s = s.outer {
		saved[s], s.reads = s.reads, 0
		levels++
	}
	vol := sc.volatile
	q, err = sc.c.query(n, sc, kind)
	fixed = sc.volatile == vol
	for s := sc; s != nil; s = s.outer {
		if s.reads != 0 {
			fixed = false
		}
		s.reads |= saved[s]
	}
	return q, fixed, err
}

// once remembers a result for the statement that runs.
type once[T any] struct {
	stmt *statement
	val  T
}

// get computes the value at the first call in a statement.
func (o *once[T]) get(f *frame, fixed bool, compute func() (T, error)) (T, error) {
	if fixed && o.stmt == f.r.stmt && o.stmt != nil {
		return o.val, nil
	}
	v, err := compute()
	if err == nil {
		o.stmt, o.val = f.r.stmt, v
	}
	return v, err
}

// scalarSubquery compiles (SELECT …) as a value: NULL without a row, 512 with more than one.
func (sc *scope) scalarSubquery(n ast.QueryExpression) (*expr, error) {
	q, fixed, err := sc.nested(n, subQuery)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlerr.New(116)
	}
	cache := &once[value.Value]{}
	return &expr{typ: q.cols[0].Type, nullable: true, coll: collImplicit, json: q.cols[0].json, eval: func(f *frame) (value.Value, error) {
		return cache.get(f, fixed, func() (value.Value, error) {
			var out value.Value
			n := 0
			err := q.run(f.r, f, func(row []rowValue) error {
				if n++; n > 1 {
					return sqlerr.New(512)
				}
				out = row[0]
				return nil
			})
			return out, err
		})
	}}, nil
}

// exists compiles EXISTS (SELECT …).
func (sc *scope) exists(n ast.QueryExpression) (*pred, error) {
	q, fixed, err := sc.nested(n, existsQuery)
	if err != nil {
		return nil, err
	}
	cache := &once[tri]{}
	return &pred{test: func(f *frame) (tri, error) {
		return cache.get(f, fixed, func() (tri, error) {
			found := no
			err := q.run(f.r, f, func([]rowValue) error {
				found = yes
				return errStop
			})
			if err == errStop {
				err = nil
			}
			return found, err
		})
	}}, nil
}

// valueSet is the result of a subquery of IN that does not depend on the row.
type valueSet struct {
	keys map[string]bool
	null bool
}

// inSubquery compiles e IN (SELECT …).
func (sc *scope) inSubquery(e *expr, n ast.QueryExpression) (*pred, error) {
	q, fixed, err := sc.nested(n, subQuery)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlerr.New(116)
	}
	var cell value.Value
	item := &expr{typ: q.cols[0].Type, coll: collImplicit, nullable: true, eval: func(*frame) (value.Value, error) { return cell, nil }}
	cmp, err := sc.c.compare("=", e, item)
	if err != nil {
		return nil, err
	}
	if !fixed {
		return &pred{test: func(f *frame) (tri, error) {
			out := no
			err := q.run(f.r, f, func(row []rowValue) error {
				cell = row[0]
				t, err := cmp.test(f)
				if err != nil {
					return err
				}
				if t == yes {
					out = yes
					return errStop
				}
				if t == unknown {
					out = unknown
				}
				return nil
			})
			if err == errStop {
				err = nil
			}
			return out, err
		}}, nil
	}
	left, right := sc.c.comparand(e, cmp.key), sc.c.comparand(item, cmp.key)
	cache := &once[*valueSet]{}
	return &pred{test: func(f *frame) (tri, error) {
		set, err := cache.get(f, true, func() (*valueSet, error) {
			set := &valueSet{keys: map[string]bool{}}
			err := q.run(f.r, f, func(row []rowValue) error {
				cell = row[0]
				v, err := right(f)
				if err != nil {
					return err
				}
				if v.IsNull() {
					set.null = true
				} else {
					set.keys[string(value.AppendKey(nil, v, cmp.key, false))] = true
				}
				return nil
			})
			return set, err
		})
		if err != nil {
			return unknown, err
		}
		v, err := left(f)
		if err != nil {
			return unknown, err
		}
		switch {
		case v.IsNull():
			if len(set.keys) == 0 && !set.null {
				return no, nil
			}
			return unknown, nil
		case set.keys[string(value.AppendKey(nil, v, cmp.key, false))]:
			return yes, nil
		case set.null:
			return unknown, nil
		}
		return no, nil
	}}, nil
}

// anyAll compiles e op ANY (SELECT …) and e op ALL (SELECT …).
func (sc *scope) anyAll(op string, n ast.ScalarExpression, sub *ast.ScalarSubquery, all bool) (*pred, error) {
	e, err := sc.scalar(n)
	if err != nil {
		return nil, err
	}
	q, _, err := sc.nested(sub.QueryExpression, subQuery)
	if err != nil {
		return nil, err
	}
	if len(q.cols) != 1 {
		return nil, sqlerr.New(116)
	}
	var cell value.Value
	item := &expr{typ: q.cols[0].Type, coll: collImplicit, nullable: true, eval: func(*frame) (value.Value, error) { return cell, nil }}
	cmp, err := sc.c.compare(op, e, item)
	if err != nil {
		return nil, err
	}
	start, stop := no, yes
	if all {
		start, stop = yes, no
	}
	return &pred{test: func(f *frame) (tri, error) {
		out := start
		err := q.run(f.r, f, func(row []rowValue) error {
			cell = row[0]
			t, err := cmp.test(f)
			if err != nil {
				return err
			}
			if t == stop {
				out = stop
				return errStop
			}
			if t == unknown {
				out = unknown
			}
			return nil
		})
		if err == errStop {
			err = nil
		}
		return out, err
	}}, nil
}
