package exec

import (
	"strings"
	"sync"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// sequence is the parsed form of a sequence object. Its counter goes on whatever becomes of the transactions that used it.
type sequence struct {
	typ                      value.Type
	start, increment         int64
	min, max                 int64
	cycle, cached            bool
	cacheSize                int64
	counter                  *sequenceCounter
	hasStart, hasMin, hasMax bool
}

type sequenceCounter struct {
	mu   sync.Mutex
	next int64
	last int64 // given out last; the start value before the first
	done bool  // the next value is out of range
}

// sequenceStatement finds how to run CREATE, ALTER and DROP SEQUENCE.
func (r *run) sequenceStatement(st ast.Statement) (func() error, bool) {
	ddl := func(fn func() error) (func() error, bool) { return func() error { return r.ddl(fn) }, true }
	switch x := st.(type) {
	case *ast.CreateSequenceStatement:
		return ddl(func() error {
			s := &sequence{typ: typeBigInt, increment: 1, cached: true}
			if _, err := r.sequenceOptions(s, x.SequenceOptions); err != nil {
				return err
			}
			return r.define(x.Name, "SO", s, verbCreate, "CREATE SEQUENCE")
		})
	case *ast.AlterSequenceStatement:
		return ddl(func() error { return r.alterSequence(x) })
	case *ast.DropSequenceStatement:
		return ddl(func() error { return r.dropModules(x.Objects, x.IsIfExists, "sequence", "SO") })
	}
	return nil, false
}

func (r *run) alterSequence(x *ast.AlterSequenceStatement) error {
	m, old, err := r.sequenceNamed(x.Name)
	if err != nil {
		return err
	}
	s := *old
	restart, err := r.sequenceOptions(&s, x.SequenceOptions)
	if err != nil {
		return err
	}
	if !restart {
		s.counter = old.counter
	}
	return r.define(x.Name, "SO", &s, verbAlter, "ALTER ON "+m.Name)
}

// sequenceNamed finds a sequence: 208 if there is none.
func (r *run) sequenceNamed(n *ast.SchemaObjectName) (*storage.Module, *sequence, error) {
	o, err := r.compiler().nameOf(n)
	if err != nil {
		return nil, nil, err
	}
	m := r.module(o.db, o.schema, o.name)
	if m == nil {
		return nil, nil, sqlerr.New(208, o.text)
	}
	if syn, ok := m.Parsed.(*synonym); ok {
		return r.sequenceNamed(syn.target)
	}
	s, ok := m.Parsed.(*sequence)
	if !ok {
		return nil, nil, sqlerr.New(11719, o.text)
	}
	return m, s, nil
}

// sequenceOptions reads the options and makes a counter; restart says that they ask for one.
func (r *run) sequenceOptions(s *sequence, opts []any) (restart bool, err error) {
	num := func(n ast.ScalarExpression) int64 {
		if err != nil {
			return 0
		}
		var v value.Value
		v, err = r.evalTo(n, typeBigInt)
		if err != nil {
			return 0
		}
		return v.Int()
	}
	var from *int64
	for _, opt := range opts {
		switch o := opt.(type) {
		case *ast.DataTypeSequenceOption:
			if s.typ, err = r.compiler().typeOf(o.DataType, false); err != nil {
				return false, err
			}
			if !s.typ.IsInteger() && !(s.typ.ID == value.Decimal || s.typ.ID == value.Numeric) || s.typ.Scale != 0 {
				return false, sqlerr.New(11702, s.typ.String())
			}
		case *ast.ScalarExpressionSequenceOption:
			switch strings.ToUpper(o.OptionKind) {
			case "START":
				s.start, s.hasStart = num(o.OptionValue), true
			case "RESTART":
				restart = true
				if o.OptionValue != nil {
					n := num(o.OptionValue)
					from = &n
				}
			case "INCREMENT":
				s.increment = num(o.OptionValue)
			case "MINVALUE":
				s.min, s.hasMin = num(o.OptionValue), true
			case "MAXVALUE":
				s.max, s.hasMax = num(o.OptionValue), true
			case "CACHE":
				s.cached = !o.NoValue
				if o.OptionValue != nil {
					s.cacheSize = num(o.OptionValue)
				}
			}
		case *ast.SequenceOption:
			switch strings.ToUpper(o.OptionKind) {
			case "RESTART":
				restart = true
			case "CYCLE":
				s.cycle = !o.NoValue
			case "CACHE":
				s.cached = !o.NoValue
			case "MINVALUE":
				s.hasMin = false
			case "MAXVALUE":
				s.hasMax = false
			}
		}
	}
	if err != nil {
		return false, err
	}
	if s.increment == 0 {
		return false, sqlerr.New(11700)
	}
	lo, hi := integerRange(s.typ)
	if !s.hasMin {
		s.min = lo
	}
	if !s.hasMax {
		s.max = hi
	}
	if !s.hasStart {
		if s.start = s.min; s.increment < 0 {
			s.start = s.max
		}
		s.hasStart = true
	}
	if s.min >= s.max {
		return false, sqlerr.New(11705)
	}
	first := s.start
	if from != nil {
		first = *from
	}
	if first < s.min || first > s.max {
		return false, sqlerr.New(11703)
	}
	s.counter = &sequenceCounter{next: first, last: first}
	return restart, nil
}

func integerRange(t value.Type) (lo, hi int64) {
	switch t.ID {
	case value.TinyInt:
		return 0, 255
	case value.SmallInt:
		return -1 << 15, 1<<15 - 1
	case value.Int:
		return -1 << 31, 1<<31 - 1
	}
	return -1 << 63, 1<<63 - 1
}

// take gives out the next value: 11728 when the range is used up.
func (s *sequence) take(name string) (int64, error) {
	c := s.counter
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return 0, sqlerr.New(11728, name)
	}
	n := c.next
	c.last = n
	after := n + s.increment
	over := s.increment > 0 && (after > s.max || after < n) || s.increment < 0 && (after < s.min || after > n)
	switch {
	case over && s.cycle && s.increment > 0:
		after = s.min
	case over && s.cycle:
		after = s.max
	case over:
		c.done = true
	}
	c.next = after
	return n, nil
}

// nextValue compiles NEXT VALUE FOR.
func (sc *scope) nextValue(x *ast.NextValueForExpression) (*expr, error) {
	if x.OverClause != nil {
		return nil, notSupported("NEXT VALUE FOR … OVER")
	}
	m, s, err := sc.c.r.sequenceNamed(x.SequenceName)
	if err != nil {
		return nil, err
	}
	sc.volatile = true
	return &expr{typ: s.typ, eval: func(f *frame) (value.Value, error) {
		n, err := s.take(m.QualifiedName())
		if err != nil {
			return value.Value{}, err
		}
		return value.Convert(&f.r.s.env, value.NewInt(value.BigInt, n), typeBigInt, s.typ, 0)
	}}, nil
}

// SequenceInfo is what the catalog shows of a sequence.
type SequenceInfo struct {
	Type                                value.Type
	Start, Increment, Min, Max, Current int64
	Cycling, Cached, Exhausted          bool
	CacheSize                           int64
}

// ModuleSequence describes a module of type SO.
func ModuleSequence(m *storage.Module) (SequenceInfo, bool) {
	s, ok := m.Parsed.(*sequence)
	if !ok {
		return SequenceInfo{}, false
	}
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	return SequenceInfo{Type: s.typ, Start: s.start, Increment: s.increment, Min: s.min, Max: s.max, Current: s.counter.last,
		Cycling: s.cycle, Cached: s.cached, CacheSize: s.cacheSize, Exhausted: s.counter.done}, true
}
