package changetable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/sqltype"
)

func TestMaskHas(t *testing.T) {
	for _, tt := range []struct {
		name    string
		columns int
		mask    []byte
		set     []int
	}{
		{"8 columns", 8, []byte{0x81}, []int{1, 8}},
		{"9 columns", 9, []byte{0x01, 0x02}, []int{2, 9}},
		{"17 columns", 17, []byte{0x01, 0x80, 0x01}, []int{1, 16, 17}},
		{"65 columns", 65, []byte{0x01, 0, 0, 0, 0, 0, 0x01, 0, 0x10}, []int{5, 17, 65}},
		{"mask that is too short", 9, []byte{0xff}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{"no mask", 3, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for ordinal := range tt.columns + 1 {
				want := false
				for _, s := range tt.set {
					want = want || s == ordinal
				}
				if got := maskHas(tt.mask, ordinal); got != want {
					t.Errorf("maskHas(%x, %d) = %v, want %v", tt.mask, ordinal, got, want)
				}
			}
		})
	}
}

func TestNotLogged(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		for _, tt := range []struct {
			name         string
			op           int
			text         any
			mask         byte
			max, legacy_ bool // what is expected of the two kinds
		}{
			{"insert of NULL", Insert, nil, 3, false, false},
			{"insert", Insert, "x", 3, false, false},
			{"delete of NULL", Delete, nil, 3, false, true},
			{"old row, column not changed", Before, nil, 1, true, true},
			{"old row, column changed from NULL", Before, nil, 3, false, true},
			{"new row, column not changed", After, nil, 1, true, true},
			{"new row, column changed to NULL", After, nil, 2, false, false},
			{"new row, value there", After, "x", 1, false, false},
		} {
			t.Run(fmt.Sprintf("%s, legacy %v", tt.name, legacy), func(t *testing.T) {
				f := &fake{start: 2, max: 3, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: tt.op, id: 1, text: tt.text, mask: []byte{tt.mask}}}}
				if tt.op == Before { // an update has two rows
					f.rows = append(f.rows, change{lsn: 3, cmd: 1, seq: 1, op: After, id: 1, text: "x", mask: []byte{tt.mask}})
				}
				r := newTestReader(t, f, func(i *catalog.Instance) {
					i.Columns[1].Legacy = legacy
					if legacy {
						i.Columns[1].Type = sqltype.Type{Name: "ntext", Nullable: true}
					}
				})
				p, err := r.Read(context.Background(), begin(), lsn(3), Limits{})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Release()
				want := tt.max
				if legacy {
					want = tt.legacy_
				}
				if got := p.NotLogged(0, 1); got != want {
					t.Errorf("NotLogged = %v, want %v", got, want)
				}
				if p.NotLogged(0, 0) {
					t.Error("NotLogged of an int")
				}
			})
		}
	}
}

func TestComputedColumnsAreLeftOut(t *testing.T) {
	r := newTestReader(t, &fake{}, func(i *catalog.Instance) { i.Columns[0].Computed = true })
	if r.Captured() != 1 || r.Schema().Field(0).Name != "text" || r.Key() != nil {
		t.Errorf("captured %d, first %s, key %v", r.Captured(), r.Schema().Field(0).Name, r.Key())
	}
	if strings.Contains(r.plan.list, "[id]") {
		t.Errorf("select list %s", r.plan.list)
	}
}

func TestStatements(t *testing.T) {
	inside := checkpoint.Position{LSN: lsn(3), CommandID: 1, SeqVal: lsn(1), Operation: 2}
	odd := func(i *catalog.Instance) {
		i.ChangeTable.Object = "i ]'1_CT"
		i.Columns[0].Name = "a]b"
		i.Columns[1].Type = sqltype.Type{Name: "sql_variant", Nullable: true}
	}
	old := func(i *catalog.Instance) {
		i.HasCommandID = false
		i.Order = []string{colStartLSN, colSeqVal, colOperation}
	}
	heap := func(i *catalog.Instance) { i.Order = nil }
	for _, tt := range []struct {
		name  string
		mode  func(*catalog.Instance)
		from  checkpoint.Position
		iso   Isolation
		wants []string
		never []string
	}{
		{"window", nil, begin(), NoLock, []string{"FROM [cdc].[dbo_t_CT] AS t WITH (NOLOCK)", "ORDER BY t.[__$start_lsn], t.[__$command_id], t.[__$seqval], t.[__$operation] OPTION (MAXDOP 1)"}, []string{"@cmd", "SNAPSHOT"}},
		{"inside of a transaction", nil, inside, Versioned, []string{"= @seq AND t.[__$operation] > @op", "= @cmd AND t.[__$seqval] > @seq", "= @lsn AND t.[__$command_id] > @cmd", "> @lsn AND t.[__$start_lsn] <= @high"}, []string{"NOLOCK", " OR "}},
		{"snapshot", nil, inside, Snapshot, []string{"SET TRANSACTION ISOLATION LEVEL SNAPSHOT"}, []string{"NOLOCK"}},
		{"odd names", odd, begin(), NoLock, []string{"[cdc].[i ]]'1_CT]", "t.[a]]b]", "SQL_VARIANT_PROPERTY"}, nil},
		{"without a command id", old, begin(), NoLock, []string{"CAST(NULL AS int)", "ORDER BY t.[__$start_lsn], t.[__$seqval], t.[__$operation] OPTION"}, []string{"[__$command_id]"}},
		{"without an index", heap, begin(), NoLock, []string{"ORDER BY t.[__$start_lsn], t.[__$command_id], t.[__$seqval], t.[__$operation] OPTION"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestReader(t, &fake{}, tt.mode)
			s := r.plan.page(tt.from, lsn(9), 10, tt.iso)
			for _, want := range tt.wants {
				if !strings.Contains(s.Text, want) {
					t.Errorf("no %q in\n%s", want, s.Text)
				}
			}
			for _, never := range tt.never {
				if strings.Contains(s.Text, never) {
					t.Errorf("%q in\n%s", never, s.Text)
				}
			}
			for _, mapping := range []string{"cdc.lsn_time_mapping AS m WITH", "cdc.change_tables AS ct WITH"} {
				if strings.Contains(s.Text, mapping) {
					t.Errorf("the watermark is read dirty:\n%s", s.Text)
				}
			}
			texts := []string{s.Text, r.plan.transaction(lsn(3), lsn(9), tt.iso).Text, r.plan.exact(1, rowKey{}, tt.iso).Text, sqlAfterPage, sqlVerify, sqlStart}
			for _, text := range texts {
				if _, err := parser.Parse(context.Background(), strings.NewReader(text)); err != nil {
					t.Errorf("parsing: %v\n%s", err, text)
				}
			}
		})
	}
}

func TestJudge(t *testing.T) {
	r := newTestReader(t, &fake{}, nil)
	proof := func(n int) checkpoint.Proof {
		c, err := commitOf(mapping(n), r.opts.Location)
		if err != nil {
			t.Fatal(err)
		}
		return c.Proof()
	}
	at := func(n, proven int) checkpoint.Position {
		return checkpoint.Position{LSN: lsn(n), Done: true, Proof: proof(proven)}
	}
	forged := at(5, 5)
	forged.Proof.TranID = []byte{99}
	for _, tt := range []struct {
		name                   string
		pos                    checkpoint.Position
		start, trimmed, newest int
		want                   any // nil, or a pointer to an error type
	}{
		{"as it should be", at(5, 5), 2, 0, 9, nil},
		{"newer than its proof", at(7, 5), 2, 0, 9, nil},
		{"another transaction at its LSN", forged, 2, 0, 9, new(*ForkError)},
		{"the mapping was cut, the changes are there", at(7, 5), 8, 6, 9, nil},
		{"cleanup has passed it", at(5, 5), 8, 6, 9, new(*GapError)},
		{"the server is behind", at(5, 5), 2, 0, 4, new(*BehindError)},
		{"before the first change of all", checkpoint.Position{LSN: lsn(9), Done: true}, 10, 0, 4, nil},
		{"made by hand, above the maximum", checkpoint.Position{LSN: checkpoint.MaxLSN, Done: true}, 2, 0, 9, new(*BehindError)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.conn = &fake{start: tt.start, trimmed: tt.trimmed, max: tt.newest}
			err := r.Verify(context.Background(), tt.pos)
			if tt.want == nil && err != nil || tt.want != nil && !errors.As(err, tt.want) {
				t.Errorf("Verify(%s) = %v, want %T", tt.pos, err, tt.want)
			}
		})
	}
	hole := func(n int) error { return r.judge(at(n, n), lsn(2), lsn(1), lsn(9), Commit{}) }
	var fork *ForkError
	if err := hole(5); !errors.As(err, &fork) {
		t.Errorf("a transaction that is missing among others: %v", err)
	}
	r.conn = &fake{gone: true, max: 9}
	var gone *InstanceGoneError
	if err := r.Verify(context.Background(), at(5, 5)); !errors.As(err, &gone) {
		t.Errorf("Verify of a disabled instance: %v", err)
	}
}
