package changetable

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/goleak"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/sqltype"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// change is a row of the fake change table.
type change struct {
	lsn, cmd, seq, op int
	id                int
	text              any // string, or nil for NULL
	mask              []byte
	noCommand         bool
}

// fake answers the statements of a Reader from rows in memory.
type fake struct {
	rows     []change // in the order of the index
	start    int
	max      int
	gone     bool
	exact    []byte
	trimmed  int                            // mapping rows at or below are removed
	before   func(n int, text string) error // called before the n-th statement
	texts    []string
	returned int
	closed   int // results that were closed before their end
}

func lsn(n int) (l checkpoint.LSN) {
	binary.BigEndian.PutUint32(l[6:], uint32(n))
	return l
}

func number(l []byte) int { return int(binary.BigEndian.Uint32(l[6:])) }

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func mapping(n int) []driver.Value {
	l := lsn(n)
	at := epoch.Add(time.Duration(n) * time.Second)
	return []driver.Value{l[:], at, at, []byte{byte(n)}}
}

func (f *fake) Query(_ context.Context, text, decl string, args ...driver.Value) (driver.RowsNextResultSet, error) {
	f.texts = append(f.texts, text)
	if f.before != nil {
		if err := f.before(len(f.texts)-1, text); err != nil {
			return nil, err
		}
	}
	arg := make(map[string]driver.Value)
	for i, part := range strings.Split(decl, ", ") {
		name, _, _ := strings.Cut(part, " ")
		arg[name] = args[i]
	}
	r := &fakeRows{fake: f}
	startSet := func() {
		if f.gone {
			r.sets = append(r.sets, nil)
			return
		}
		l := lsn(f.start)
		r.sets = append(r.sets, [][]driver.Value{{l[:]}})
	}
	switch {
	case strings.Contains(text, "@next"):
		startSet()
		first, last := number(arg["@first"].([]byte)), number(arg["@last"].([]byte))
		var commits [][]driver.Value
		for n := max(first, f.trimmed+1); n <= min(last, f.max); n++ {
			commits = append(commits, mapping(n))
		}
		r.sets = append(r.sets, commits, [][]driver.Value{mapping(min(f.max, number(arg["@next"].([]byte))))})
	case strings.Contains(text, "@proof"):
		startSet()
		oldest, newest := lsn(f.trimmed+1), lsn(f.max)
		r.sets = append(r.sets, [][]driver.Value{{oldest[:]}}, [][]driver.Value{{newest[:]}})
		if n := number(arg["@proof"].([]byte)); n > f.trimmed && n <= f.max {
			r.sets = append(r.sets, [][]driver.Value{mapping(n)})
		} else {
			r.sets = append(r.sets, nil)
		}
	case text == sqlStart:
		startSet()
	case strings.Contains(text, "varbinary(max)"):
		r.sets = append(r.sets, [][]driver.Value{{f.exact}})
	default:
		f.page(r, arg)
	}
	return r, nil
}

// page is what the server does with a page statement: each seek in turn, until
// there are enough rows.
func (f *fake) page(r *fakeRows, arg map[string]driver.Value) {
	m := lsn(f.max)
	r.sets = append(r.sets, [][]driver.Value{{m[:]}})
	high := number(arg["@high"].([]byte))
	if f.max < high {
		return
	}
	at := number(arg["@lsn"].([]byte))
	seeks := []func(c change) bool{func(c change) bool { return c.lsn > at && c.lsn <= high }}
	left := 1 << 30
	if n, limited := arg["@n"]; limited {
		left = int(n.(int64))
	} else {
		seeks = []func(c change) bool{func(c change) bool { return c.lsn == at }}
	}
	if cmd, inside := arg["@cmd"]; inside {
		cmd, seq, op := int(cmd.(int64)), number(arg["@seq"].([]byte)), int(arg["@op"].(int64))
		seeks = []func(c change) bool{
			func(c change) bool { return c.lsn == at && c.cmd == cmd && c.seq == seq && c.op > op && !c.noCommand },
			func(c change) bool { return c.lsn == at && c.cmd == cmd && c.seq > seq && !c.noCommand },
			func(c change) bool { return c.lsn == at && c.cmd > cmd && !c.noCommand },
			seeks[0],
		}
	}
	for _, want := range seeks {
		if left <= 0 {
			break
		}
		var set [][]driver.Value
		for _, c := range f.rows {
			if left > 0 && want(c) {
				set = append(set, c.cells())
				left--
			}
		}
		r.sets = append(r.sets, set)
	}
}

func (c change) cells() []driver.Value {
	l, s := lsn(c.lsn), lsn(c.seq)
	var cmd driver.Value = int64(c.cmd)
	if c.noCommand {
		cmd = nil
	}
	return []driver.Value{int64(c.id), c.text, l[:], cmd, s[:], int64(c.op), c.mask}
}

type fakeRows struct {
	fake *fake
	sets [][][]driver.Value
	set  int
	row  int
}

func (r *fakeRows) Columns() []string {
	if len(r.sets[r.set]) == 0 {
		return []string{""}
	}
	return make([]string, len(r.sets[r.set][0]))
}

func (r *fakeRows) Next(dest []driver.Value) error {
	if r.row == len(r.sets[r.set]) {
		return io.EOF
	}
	copy(dest, r.sets[r.set][r.row])
	r.row++
	r.fake.returned++
	return nil
}
func (r *fakeRows) HasNextResultSet() bool { return r.set+1 < len(r.sets) }
func (r *fakeRows) NextResultSet() error {
	r.set, r.row = r.set+1, 0
	return nil
}
func (r *fakeRows) Close() error {
	if r.set+1 < len(r.sets) || r.row < len(r.sets[r.set]) {
		r.fake.closed++
	}
	return nil
}

// newTestReader is a reader of a table (id int, text nvarchar(max)) on a fake.
func newTestReader(t interface {
	Helper()
	Fatal(...any)
}, f *fake, change func(*catalog.Instance)) *Reader {
	t.Helper()
	inst := &catalog.Instance{
		Capture: "dbo_t", Source: catalog.Name{Schema: "dbo", Object: "t"}, ChangeTable: catalog.Name{Schema: "cdc", Object: "dbo_t_CT"},
		Columns: []catalog.Column{
			{Name: "id", Ordinal: 1, Type: sqltype.Type{Name: "int", Nullable: true}},
			{Name: "text", Ordinal: 2, Type: sqltype.Type{Name: "nvarchar", Length: sqltype.Max, Nullable: true}, LOB: true},
		},
		Key: []string{"id"}, Order: slices.Clone(normalOrder), HasCommandID: true,
	}
	if change != nil {
		change(inst)
	}
	r, err := newReader(f, inst, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sqlError(number int32) error { return mssql.Error{Number: number, Class: 16, Message: "x"} }

// begin is the position before everything.
func begin() checkpoint.Position {
	return checkpoint.Position{Instance: "dbo_t", LSN: lsn(1), Done: true}
}

// ids reads a page's id column.
func ids(p *Page) (out []int) {
	for row := range p.Rows {
		out = append(out, int(p.Record.Column(0).(interface{ Value(int) int32 }).Value(row)))
	}
	return out
}
