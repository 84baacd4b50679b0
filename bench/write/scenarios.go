package main

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

var categories = [...]string{"alpha", "beta", "gamma", "delta", "epsilon"}

func id32(r int64) int32 { return int32((uint64(r)*1103515245 + 12345) % 1e6) }

func score(r int64) float64 { return float64((37*r+17)%100000) / 100 }

// scenarios are the shapes that bulk writers from Arrow are compared by, after the
// benchmarks of arrow-sql-server. Its "large binary values" have the text of a small
// document and a payload of 1 to 5 KB; string_heavy has a text of that size as well.
func scenarios() []*scenario {
	return []*scenario{
		{"narrow_numeric", 1_000_000, []column{
			int32s("id32", id32),
			int64s("id64", func(r int64) int64 { return int64(id32(r)) * 1000 }),
			floats("score", score),
		}},
		{"mixed_nullable", 1_000_000, []column{
			int32s("id32", id32),
			nullEach(7, int64s("maybe_id64", func(r int64) int64 { return int64(id32(r)) * 10 })),
			nullEach(11, floats("maybe_score", score)),
			nullEach(5, texts("category", func(r int64) string { return categories[r%5] })),
		}},
		{"decimal_temporal", 500_000, []column{
			int64s("transaction_id", func(r int64) int64 { return 5e8 + r }),
			int32s("account_id", func(r int64) int32 { return int32(1e4 + r%2e5) }),
			decimals("amount", 18, 4, func(r int64) int64 {
				if r%13 == 0 {
					return -(1e6 + r%5e7)
				}
				return 1e6 + r%5e7
			}),
			nullEach(11, decimals("fee", 12, 4, func(r int64) int64 { return 25 + r%1e4 })),
			{"trade_date", arrow.FixedWidthTypes.Date32, "date", false, func(r int64) any { return 19723 + r%365 }},
			{"posted_at_ms", &arrow.TimestampType{Unit: arrow.Millisecond}, "datetime2(7)", false, func(r int64) any { return 1735689600000 + 17000*r }},
			nullEach(17, bools("approved", func(r int64) bool { return r%3 != 0 })),
		}},
		documents("large_binary", ascii, func(r int64) int64 { return 24 + r%96 }),
		documents("string_heavy", ascii, func(r int64) int64 { return 512 + r%2048 }),
		documents("string_heavy_unicode", unicode, func(r int64) int64 { return 512 + r%2048 }),
		sparse(),
	}
}

// alphabet is what texts are made of.
type alphabet struct {
	letters []rune
	kinds   [5]string
	tenant  string
}

var (
	ascii   = alphabet{[]rune("abcdefghijklmnopqrstuvwxyz0123456789 "), [5]string{"invoice", "event", "profile", "message", "audit"}, "tenant"}
	unicode = alphabet{[]rune("数据写入测试éñλΣ0123 "), [5]string{"发票", "事件", "档案", "消息", "审计"}, "租户"}
)

func (a *alphabet) text(r, n int64) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(a.letters[(r*31+i*7)%int64(len(a.letters))])
	}
	return b.String()
}

func documents(name string, a alphabet, size func(r int64) int64) *scenario {
	return &scenario{name, 20_000, []column{
		int64s("id", func(r int64) int64 { return 9e8 + r }),
		texts("tenant", func(r int64) string { return fmt.Sprintf("%s-%04d", a.tenant, r%512) }),
		nullEach(37, texts("document_type", func(r int64) string { return a.kinds[r%5] })),
		nullEach(41, texts("title", func(r int64) string { return fmt.Sprintf("document title %012d", r) })),
		nullEach(43, texts("body", func(r int64) string { return a.text(r, size(r)) })),
		nullEach(47, texts("metadata", func(r int64) string {
			return fmt.Sprintf(`{"tenant":%d,"source":%d,"sequence":%d}`, r%512, r%17, r)
		})),
		nullEach(53, binaries("payload", func(r int64) []byte {
			b := make([]byte, 1024+r%4096)
			for i := range b {
				b[i] = byte((r*131 + int64(i)*29) % 251)
			}
			return b
		})),
	}}
}

// sparse has 32 columns of four kinds, with NULLs here and there.
func sparse() *scenario {
	s := &scenario{name: "wide_sparse", rows: 100_000}
	for c := range int64(8) {
		col := int32s(fmt.Sprintf("metric_i32_%02d", c), func(r int64) int32 { return int32(r * (c + 3) % 1e6) })
		if c > 0 {
			col = nullEach(c+11, col)
		}
		s.columns = append(s.columns, col)
	}
	for c := range int64(8) {
		s.columns = append(s.columns, nullEach(c+13, floats(fmt.Sprintf("metric_f64_%02d", c), func(r int64) float64 { return float64(r*(c+19)%10000) / 10 })))
	}
	for c := range int64(8) {
		s.columns = append(s.columns, nullEach(c+17, texts(fmt.Sprintf("tag_%02d", c), func(r int64) string { return fmt.Sprintf("tag-%02d-%d", c, r%128) })))
	}
	for c := range int64(8) {
		s.columns = append(s.columns, nullEach(c+23, bools(fmt.Sprintf("flag_%02d", c), func(r int64) bool { return (r+c)%2 == 0 })))
	}
	return s
}
