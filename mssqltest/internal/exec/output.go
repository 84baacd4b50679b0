package exec

import (
	"math"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// topClause is TOP, or OFFSET … FETCH.
type topClause struct {
	count, offset *expr
	percent, ties bool
}

// top compiles TOP and OFFSET/FETCH; the expressions see the outer levels only.
func (c *compiler) top(t *ast.TopRowFilter, o *ast.OffsetClause, outer *scope, ordered bool) (*topClause, error) {
	out := &topClause{}
	sc := &scope{c: c, outer: outer}
	var err error
	if t != nil {
		if out.count, err = sc.scalar(t.Expression); err != nil {
			return nil, err
		}
		out.percent, out.ties = t.Percent, t.WithTies
		if out.ties && !ordered {
			return nil, sqlerr.New(1062)
		}
		to := typeBigInt
		if t.Percent {
			to = typeFloat
		} else if isString(out.count.typ) || out.count.typ.ID == value.Float {
			return nil, sqlerr.New(1060)
		}
		out.count = c.coerce(out.count, to)
	}
	if o != nil {
		if t != nil {
			return nil, sqlerr.New(10741)
		}
		if out.offset, err = sc.scalar(o.OffsetExpression); err != nil {
			return nil, err
		}
		out.offset = c.coerce(out.offset, typeBigInt)
		if o.FetchExpression != nil {
			if out.count, err = sc.scalar(o.FetchExpression); err != nil {
				return nil, err
			}
			out.count = c.coerce(out.count, typeBigInt)
		}
	}
	return out, nil
}

// limit is a topClause with its numbers.
type limit struct {
	has, none   bool
	count, skip int64
	percent     float64
	isPercent   bool
	ties        bool
}

func (t *topClause) start(f *frame) (limit, error) {
	lim := limit{ties: t.ties, isPercent: t.percent}
	in := &frame{r: f.r, outer: f.outer}
	if t.count != nil {
		v, err := t.count.eval(in)
		if err != nil {
			return lim, err
		}
		if v.IsNull() {
			return lim, sqlerr.New(1060)
		}
		if t.percent {
			lim.percent = v.Float()
			if lim.percent < 0 || lim.percent > 100 {
				return lim, sqlerr.New(1031)
			}
			lim.none = lim.percent == 0
			return lim, nil
		}
		lim.has, lim.count = true, v.Int()
		if lim.count < 0 {
			return lim, sqlerr.New(1060)
		}
		lim.none = lim.count == 0
	}
	if t.offset != nil {
		v, err := t.offset.eval(in)
		if err != nil {
			return lim, err
		}
		if v.IsNull() || v.Int() < 0 {
			return lim, sqlerr.New(10742)
		}
		lim.skip = v.Int()
	}
	return lim, nil
}

// outputRows applies DISTINCT, OFFSET and TOP to the rows in their final order.
type outputRows struct {
	emit    func([]rowValue) error
	lim     limit
	seen    map[string]bool
	types   []value.Type
	n       int64
	lastKey string
	held    [][]rowValue // TOP PERCENT: all rows
	full    bool         // errStop comes from the limit
	buf     []byte
	stored  func(*storage.Row) (bool, error) // takes a row as it is stored, or leaves it to emit
}

func (p *levelPlan) output(emit func([]rowValue) error, lim limit) *outputRows {
	o := &outputRows{emit: emit, lim: lim}
	if !lim.ties && !lim.isPercent && lim.skip == 0 {
		o.stored = p.toSink
	}
	if p.distinct {
		o.seen = map[string]bool{}
		for _, e := range p.outs {
			o.types = append(o.types, e.typ)
		}
	}
	return o
}

// project evaluates the select list.
func (p *levelPlan) project(f *frame) ([]rowValue, error) {
	row := make([]rowValue, len(p.outs))
	for i, e := range p.outs {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	if p.base != nil && len(row) > 0 {
		p.base.rows[&row[0]] = p.base.rowOf(f.rows[0])
	}
	return row, nil
}

// row takes the current frame of a source that is already in order.
func (o *outputRows) row(p *levelPlan, f *frame) error {
	if o.stored != nil && f.stored != nil {
		if taken, err := o.stored(f.stored); taken || err != nil {
			return o.took(err)
		}
	}
	key := ""
	if o.lim.ties {
		k, err := sortKeyOf(nil, p.order, f)
		if err != nil {
			return err
		}
		key = string(k)
	}
	row, err := p.project(f)
	if err != nil {
		return err
	}
	return o.add(row, key)
}

// add takes one row. It asks for no further row once the limit is reached.
func (o *outputRows) add(row []rowValue, key string) error {
	if o.seen != nil {
		o.buf = rowKeyOf(o.buf[:0], row, o.types)
		if o.seen[string(o.buf)] {
			return nil
		}
		o.seen[string(o.buf)] = true
	}
	if o.lim.isPercent {
		o.held = append(o.held, row)
		return nil
	}
	if o.lim.skip > 0 {
		o.lim.skip--
		return nil
	}
	if o.lim.has && o.n >= o.lim.count && (!o.lim.ties || key != o.lastKey) {
		o.full = true
		return errStop
	}
	o.n++
	o.lastKey = key
	if err := o.emit(row); err != nil {
		return err
	}
	if o.lim.has && o.n >= o.lim.count && !o.lim.ties {
		o.full = true
		return errStop
	}
	return nil
}

// took counts a row that the sink has taken.
func (o *outputRows) took(err error) error {
	o.n++
	if err == nil && o.lim.has && o.n >= o.lim.count {
		o.full = true
		err = errStop
	}
	return err
}

// finish emits what TOP PERCENT held back.
func (o *outputRows) finish() error {
	if !o.lim.isPercent {
		return nil
	}
	n := int(math.Ceil(float64(len(o.held)) * o.lim.percent / 100))
	for _, row := range o.held[:min(n, len(o.held))] {
		if err := o.emit(row); err != nil {
			return err
		}
	}
	return nil
}

// keyedRow is an output row with its sort key.
type keyedRow struct {
	key string
	row []rowValue
}

// sortRows collects, sorts and outputs the rows.
func (p *levelPlan) sortRows(f *frame, o *outputRows) error {
	var rows []keyedRow
	err := p.rows(f, func() error {
		row, err := p.project(f)
		if err != nil {
			return err
		}
		key, err := sortKeyOf(nil, p.order, f)
		if err != nil {
			return err
		}
		rows = append(rows, keyedRow{string(key), row})
		if len(rows)%1024 == 0 {
			return f.r.ctx.Err()
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b keyedRow) int { return strings.Compare(a.key, b.key) })
	for _, r := range rows {
		if err := o.add(r.row, r.key); err != nil {
			return err
		}
	}
	return nil
}

// sortFrames is sortRows for assignments: the frames themselves are sorted.
func (p *levelPlan) sortFrames(f *frame, yield func() error) error {
	type keyed struct {
		key string
		s   snapshot
	}
	var rows []keyed
	err := p.rows(f, func() error {
		key, err := sortKeyOf(nil, p.order, f)
		rows = append(rows, keyed{string(key), f.snapshot()})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	for _, r := range rows {
		f.restore(r.s)
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}
