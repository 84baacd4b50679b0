package exec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// windowing collects the window functions of a query level. They are computed when all rows of the level are known, and
// read from slots behind those of the aggregates.
type windowing struct{ calls []*windowCall }

// counts reports whether all calls only number the rows as they come, ROW_NUMBER() OVER (ORDER BY (SELECT NULL)): these need
// not see all rows first.
func (w *windowing) counts() bool {
	for _, c := range w.calls {
		if c.name != "ROW_NUMBER" || len(c.partition) > 0 || !c.constant {
			return false
		}
	}
	return true
}

// windowCall is one function with its OVER clause.
type windowCall struct {
	name      string
	args      []*expr
	partition []*expr
	order     []sortKey
	agg       *aggregateCall
	rows      bool // ROWS or RANGE frame that is not the default
	whole     bool // the frame is the whole partition
	slot      int  // among the windows
	constant  bool // ORDER BY reads no column
	frame     *rowsFrame
}

var rankingFuncs = wordSet("ROW_NUMBER RANK DENSE_RANK NTILE LAG LEAD FIRST_VALUE LAST_VALUE PERCENT_RANK CUME_DIST")

// window compiles a window function and gives it a slot.
func (sc *scope) window(x *ast.FunctionCall) (*expr, error) {
	if sc.windows == nil {
		return nil, sqlerr.New(4108)
	}
	if x.OverClause.WindowName != nil {
		return nil, notSupported("named windows")
	}
	w := &windowCall{name: strings.ToUpper(x.FunctionName.Value)}
	save := sc.windows
	sc.windows = nil // windows do not nest
	defer func() { sc.windows = save }()
	for _, n := range x.OverClause.Partitions {
		e, err := sc.scalar(n)
		if err != nil {
			return nil, err
		}
		w.partition = append(w.partition, e)
	}
	reads, volatile := sc.reads, sc.volatile
	sc.reads, sc.volatile = 0, false
	if ob := x.OverClause.OrderByClause; ob != nil {
		for _, o := range ob.OrderByElements {
			e, err := sc.scalar(o.Expression)
			if err != nil {
				return nil, err
			}
			w.order = append(w.order, sortKey{e, descending(o)})
		}
	}
	w.constant = sc.reads == 0 && !sc.volatile
	sc.reads, sc.volatile = sc.reads|reads, sc.volatile || volatile
	typ, nullable := value.Type{ID: value.BigInt}, false
	switch {
	case rankingFuncs[w.name]:
		if len(w.order) == 0 {
			return nil, sqlerr.New(4112, w.name)
		}
		es, err := sc.scalars(x.Parameters)
		if err != nil {
			return nil, err
		}
		w.args = es
		switch w.name {
		case "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE":
			if len(es) == 0 {
				return nil, sqlerr.New(174, strings.ToLower(w.name), 1)
			}
			typ, nullable = es[0].typ, true
			if len(es) == 3 {
				w.args[2] = sc.c.coerce(es[2], typ)
			}
		case "NTILE":
			if len(es) != 1 {
				return nil, sqlerr.New(174, "ntile", 1)
			}
			w.args[0] = sc.c.coerce(es[0], typeBigInt)
		case "PERCENT_RANK", "CUME_DIST":
			typ = typeFloat
		}
	case isAggregate(w.name):
		a, err := sc.aggregateCall(x)
		if err != nil {
			return nil, err
		}
		w.agg = a
		typ, nullable = a.typ, true
	default:
		return nil, sqlerr.New(195, x.FunctionName.Value, "function name")
	}
	if err := w.frameClause(x.OverClause.WindowFrameClause); err != nil {
		return nil, err
	}
	w.slot = len(save.calls)
	save.calls = append(save.calls, w)
	slot := w.slot
	return &expr{typ: typ, nullable: nullable, eval: func(f *frame) (value.Value, error) {
		return f.slots[len(f.slots)-1-slot], nil
	}}, nil
}

// frameClause reads ROWS and RANGE: from the start to the current row, or the whole partition.
func (w *windowCall) frameClause(c *ast.WindowFrameClause) error {
	if c == nil {
		w.whole = len(w.order) == 0
		return nil
	}
	w.rows = strings.EqualFold(c.WindowFrameType, "Rows")
	first, err := frameBound(c.Top)
	if err != nil {
		return err
	}
	last := 0
	if c.Bottom != nil {
		if last, err = frameBound(c.Bottom); err != nil {
			return err
		}
	}
	switch {
	case first == -unboundedRows && last == unboundedRows:
		w.whole = true
	case first == -unboundedRows && last == 0:
	case !w.rows:
		return notSupported("RANGE frames that do not begin with UNBOUNDED PRECEDING")
	default:
		w.frame = &rowsFrame{first, last}
	}
	return nil
}

// rowsFrame is a ROWS frame by its distances from the current row.
type rowsFrame struct{ first, last int }

const unboundedRows = 1 << 40

func frameBound(d *ast.WindowDelimiter) (int, error) {
	if d == nil {
		return 0, nil
	}
	n := 0
	if lit, ok := d.OffsetValue.(*ast.IntegerLiteral); ok {
		var err error
		if n, err = strconv.Atoi(lit.Value); err != nil {
			return 0, near102(lit.Value)
		}
	} else if d.OffsetValue != nil {
		return 0, notSupported("window frames of computed length")
	}
	switch d.WindowDelimiterType {
	case "UnboundedPreceding":
		return -unboundedRows, nil
	case "UnboundedFollowing":
		return unboundedRows, nil
	case "ValuePreceding":
		return -n, nil
	case "ValueFollowing":
		return n, nil
	}
	return 0, nil
}

// bounds are the first row of the frame of row i of n, and the one behind its last.
func (f *rowsFrame) bounds(i, n int) (lo, hi int) {
	lo, hi = max(i+f.first, 0), min(i+f.last+1, n)
	return min(lo, n), max(hi, 0)
}

// snapshot is one row of a level, kept for windows and sorting.
type snapshot struct {
	rows  [][]value.Value
	slots []value.Value
}

func (f *frame) snapshot() snapshot {
	return snapshot{slices.Clone(f.rows), slices.Clone(f.slots)}
}

func (f *frame) restore(s snapshot) { f.rows, f.slots = s.rows, s.slots }

// windowRow is a row of one partition with its keys.
type windowRow struct {
	part, order string
	at          int
}

// compute fills the slot of one window function in all rows.
func (w *windowCall) compute(f *frame, rows []snapshot) error {
	ws := make([]windowRow, len(rows))
	for i := range rows {
		f.restore(rows[i])
		var part []byte
		for _, e := range w.partition {
			v, err := e.eval(f)
			if err != nil {
				return err
			}
			part = value.AppendKey(part, v, keyType(e.typ), false)
		}
		key, err := sortKeyOf(nil, w.order, f)
		if err != nil {
			return err
		}
		ws[i] = windowRow{string(part), string(key), i}
	}
	slices.SortStableFunc(ws, func(a, b windowRow) int {
		if c := strings.Compare(a.part, b.part); c != 0 {
			return c
		}
		return strings.Compare(a.order, b.order)
	})
	for from := 0; from < len(ws); {
		to := from
		for to < len(ws) && ws[to].part == ws[from].part {
			to++
		}
		if err := w.partitionRows(f, rows, ws[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (w *windowCall) set(s snapshot, v value.Value) { s.slots[len(s.slots)-1-w.slot] = v }

func (w *windowCall) partitionRows(f *frame, rows []snapshot, ws []windowRow) error {
	if w.agg != nil {
		return w.aggregateRows(f, rows, ws)
	}
	rank, dense := int64(0), int64(0)
	for i, r := range ws {
		if i == 0 || r.order != ws[i-1].order {
			rank, dense = int64(i+1), dense+1
		}
		var v value.Value
		switch w.name {
		case "ROW_NUMBER":
			v = value.NewInt(value.BigInt, int64(i+1))
		case "RANK":
			v = value.NewInt(value.BigInt, rank)
		case "DENSE_RANK":
			v = value.NewInt(value.BigInt, dense)
		case "PERCENT_RANK":
			if len(ws) > 1 {
				v = value.NewFloat(float64(rank-1) / float64(len(ws)-1))
			} else {
				v = value.NewFloat(0)
			}
		case "CUME_DIST":
			j := i
			for j < len(ws) && ws[j].order == r.order {
				j++
			}
			v = value.NewFloat(float64(j) / float64(len(ws)))
		default:
			var err error
			if v, err = w.offsetValue(f, rows, ws, i); err != nil {
				return err
			}
		}
		w.set(rows[r.at], v)
	}
	return nil
}

// offsetValue computes LAG, LEAD, FIRST_VALUE, LAST_VALUE and NTILE.
func (w *windowCall) offsetValue(f *frame, rows []snapshot, ws []windowRow, i int) (value.Value, error) {
	f.restore(rows[ws[i].at])
	j := i
	switch w.name {
	case "NTILE":
		v, err := w.args[0].eval(f)
		if err != nil {
			return v, err
		}
		n := int64(1)
		if !v.IsNull() {
			n = v.Int()
		}
		if n < 1 {
			return v, sqlerr.New(4109)
		}
		size, extra := int64(len(ws))/n, int64(len(ws))%n
		at := int64(i)
		if at < extra*(size+1) {
			return value.NewInt(value.BigInt, at/(size+1)+1), nil
		}
		return value.NewInt(value.BigInt, (at-extra*(size+1))/max(size, 1)+extra+1), nil
	case "FIRST_VALUE", "LAST_VALUE":
		j = 0
		if w.frame != nil {
			lo, hi := w.frame.bounds(i, len(ws))
			if lo >= hi {
				return value.Value{}, nil
			}
			if j = lo; w.name == "LAST_VALUE" {
				j = hi - 1
			}
			break
		}
		if w.name == "FIRST_VALUE" {
			break
		}
		j = i
		if w.whole {
			j = len(ws) - 1
		} else if !w.rows {
			for j+1 < len(ws) && ws[j+1].order == ws[i].order {
				j++
			}
		}
	default:
		n := int64(1)
		if len(w.args) > 1 {
			v, err := w.args[1].eval(f)
			if err != nil {
				return v, err
			}
			n = v.Int()
		}
		if w.name == "LAG" {
			n = -n
		}
		j = i + int(n)
		if j < 0 || j >= len(ws) {
			if len(w.args) > 2 {
				return w.args[2].eval(f)
			}
			return value.Value{}, nil
		}
	}
	f.restore(rows[ws[j].at])
	return w.args[0].eval(f)
}

// aggregateRows computes an aggregate over the partition, or running over its order.
func (w *windowCall) aggregateRows(f *frame, rows []snapshot, ws []windowRow) error {
	if w.frame != nil {
		for i, r := range ws {
			acc := newAccumulator(f.r, w.agg)
			lo, hi := w.frame.bounds(i, len(ws))
			for k := lo; k < hi; k++ {
				f.restore(rows[ws[k].at])
				if err := acc.add(f); err != nil {
					return err
				}
			}
			v, err := acc.result()
			if err != nil {
				return err
			}
			w.set(rows[r.at], v)
		}
		return nil
	}
	acc := newAccumulator(f.r, w.agg)
	for i := 0; i < len(ws); {
		j := i + 1
		for j < len(ws) && (w.whole || !w.rows && ws[j].order == ws[i].order) {
			j++
		}
		for _, r := range ws[i:j] {
			f.restore(rows[r.at])
			if err := acc.add(f); err != nil {
				return err
			}
		}
		v, err := acc.result()
		if err != nil {
			return err
		}
		for _, r := range ws[i:j] {
			w.set(rows[r.at], v)
		}
		i = j
	}
	return nil
}
