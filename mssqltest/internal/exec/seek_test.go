package exec

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

const changeTable = `CREATE TABLE ct ([__$start_lsn] binary(10) NOT NULL, [__$end_lsn] binary(10) NULL, [__$seqval] binary(10) NOT NULL, [__$operation] int NOT NULL,
 [__$update_mask] varbinary(128) NULL, id int NULL, [__$command_id] int NULL);
CREATE UNIQUE CLUSTERED INDEX ct_idx ON ct ([__$start_lsn], [__$command_id], [__$seqval], [__$operation]);
DECLARE @l int = 1, @c int;
WHILE @l <= 20 BEGIN
 SET @c = 1;
 WHILE @c <= 30 BEGIN
  INSERT ct VALUES (CAST(@l AS binary(10)), NULL, CAST(@c AS binary(10)), 2, 0x01, @l * 100 + @c, @c);
  SET @c += 1
 END
 SET @l += 1
END`

func lsn(n byte) Param {
	b := make([]byte, 10)
	b[9] = n
	return Param{Type: value.Type{ID: value.Binary, Len: 10}, Value: value.NewBinary(value.Binary, b)}
}

func named(p Param, name string) Param { p.Name = name; return p }

func intParam(name string, n int64) Param {
	return Param{Name: name, Type: typeInt, Value: value.NewInt(value.Int, n)}
}

// TestRowsExamined holds paging of a change table to what an index seek reads: one row more than it returns at most.
func TestRowsExamined(t *testing.T) {
	s := newSession(t)
	if out := batchText(t, s, changeTable); out != "" {
		t.Fatal(out)
	}
	lo, hi, n := named(lsn(7), "@lo"), named(lsn(9), "@hi"), intParam("@n", 10)
	seq := named(lsn(5), "@seq")
	vb := lsn(7)
	vb.Name, vb.Type = "@vb", value.Type{ID: value.VarBinary, Len: 8000}
	const order = " ORDER BY [__$start_lsn], [__$command_id], [__$seqval], [__$operation]"
	tests := []struct {
		name, sql string
		params    []Param
		rows      int
		slack     int64
	}{
		{"range", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] > @lo AND [__$start_lsn] <= @hi" + order, []Param{lo, hi, n}, 10, 1},
		{"equality and range", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] > @c" + order, []Param{lo, intParam("@c", 12), n}, 10, 1},
		{"two equalities and range", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] = @c AND [__$seqval] > @seq" + order, []Param{lo, intParam("@c", 6), seq, n}, 1, 1},
		{"three equalities and range", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] = @c AND [__$seqval] = @seq AND [__$operation] > @o" + order, []Param{lo, intParam("@c", 5), seq, intParam("@o", 1), n}, 1, 1},
		{"whole LSN", "SELECT id FROM ct WHERE [__$start_lsn] = @lo" + order, []Param{lo}, 30, 1},
		{"varbinary against binary", "SELECT id FROM ct WHERE [__$start_lsn] = @vb", []Param{vb}, 30, 1},
		{"between", "SELECT id FROM ct WHERE [__$start_lsn] BETWEEN @lo AND @hi", []Param{lo, hi}, 90, 1},
		{"nolock", "SELECT TOP (@n) id FROM dbo.ct WITH (NOLOCK) WHERE [__$start_lsn] = @lo AND [__$command_id] > @c" + order, []Param{lo, intParam("@c", 3), n}, 10, 1},
		{"backwards", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] <= @hi ORDER BY [__$start_lsn] DESC, [__$command_id] DESC", []Param{hi, n}, 10, 1},
		{"maximum", "SELECT MAX([__$start_lsn]) FROM ct", nil, 1, 1},
		{"maximum below", "SELECT MAX([__$start_lsn]) FROM ct WHERE [__$start_lsn] < @hi", []Param{hi}, 1, 1},
		{"bigint against int", "SELECT id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] = @b", []Param{lo, {Name: "@b", Type: typeBigInt, Value: value.NewInt(value.BigInt, 5)}}, 1, 1},
		{"too large for int", "SELECT id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] < @b", []Param{lo, {Name: "@b", Type: typeBigInt, Value: value.NewInt(value.BigInt, 1<<40)}}, 30, 1},
		{"union all of seeks", "SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] = @c AND [__$seqval] > @seq UNION ALL SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] > @c UNION ALL SELECT TOP (@n) id FROM ct WHERE [__$start_lsn] > @lo AND [__$start_lsn] <= @hi", []Param{lo, hi, n, intParam("@c", 6), seq}, 21, 3},
		{"derived table", "SELECT MAX(x) FROM (SELECT TOP (@n) [__$start_lsn] AS x FROM ct WHERE [__$start_lsn] >= @lo ORDER BY [__$start_lsn]) AS d", []Param{lo, n}, 1, 10},
		{"outer apply of seeks", "SELECT v.l, x.id FROM (VALUES (@lo), (@hi)) AS v(l) OUTER APPLY (SELECT TOP 1 id FROM ct WHERE [__$start_lsn] = v.l ORDER BY [__$start_lsn], [__$command_id]) AS x", []Param{lo, hi}, 2, 1},
		{"in list", "SELECT id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] IN (3, 5, 5, NULL, 99) ORDER BY [__$command_id]", []Param{lo}, 2, 1},
		{"exists", "SELECT CASE WHEN EXISTS (SELECT 1 FROM ct WHERE [__$start_lsn] > @lo AND [__$start_lsn] <= @hi) THEN 1 ELSE 0 END", []Param{lo, hi}, 1, 1},
	}
	for _, tt := range tests {
		sink := &textSink{}
		if _, err := s.ExecuteSQL(context.Background(), tt.sql, tt.params, sink); err != nil {
			t.Fatal(err)
		}
		for _, e := range sink.errs {
			t.Errorf("%s: %v", tt.name, e)
		}
		rows := strings.Count(sink.b.String(), "\n")
		if rows != tt.rows {
			t.Errorf("%s: %d rows, want %d:\n%s", tt.name, rows, tt.rows, sink.b.String())
		}
		if got := s.RowsExamined(); got > int64(tt.rows)+tt.slack {
			t.Errorf("%s: %d rows examined for %d", tt.name, got, tt.rows)
		}
	}
}

// TestSeekOrder compares seeks with the same conditions hidden from the index.
func TestSeekOrder(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int NULL, b varchar(5) NULL, c int NOT NULL); CREATE INDEX ix ON t (a DESC, b); INSERT t VALUES (NULL,'x',1),(1,'b',2),(1,'a',3),(1,NULL,4),(2,'a',5),(3,'B',6)", ""},
		{"range on a descending column", "SELECT c FROM t WHERE a >= 2 ORDER BY a DESC; SELECT c FROM t WHERE a < 2 ORDER BY c", "6\n5\n2\n3\n4"},
		{"null is outside of a range", "SELECT c FROM t WHERE a < 5 AND c < 2; SELECT c FROM t WHERE a = 1 AND b < 'z' ORDER BY b", "3\n2"},
		{"is null", "SELECT c FROM t WHERE a IS NULL", "1"},
		{"equality with null", "DECLARE @n int; SELECT c FROM t WHERE a = @n", ""},
		{"order of the index", "SELECT c FROM t WHERE a = 1 ORDER BY b DESC", "2\n3\n4"},
		{"decimal bound of an int column", "SELECT c FROM t WHERE a > 1.5 AND a < 2.5; SELECT c FROM t WHERE a = 1.5", "5"},
		{"nvarchar against varchar", "SELECT c FROM t WHERE a = 3 AND b = N'b'", "6"},
		{"index hint", "SELECT COUNT(*) FROM t WITH (INDEX(ix)); SELECT 1 FROM t WITH (INDEX(nope))", "6\nmsg 308"},
	})
}

// TestPrecedence shows that a parameter of a wider type converts the column and reads the whole index, as on a server.
func TestPrecedence(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (k varchar(10) PRIMARY KEY); INSERT t SELECT CAST(value AS varchar(10)) FROM GENERATE_SERIES(1, 100); CREATE TABLE d (k datetime PRIMARY KEY); INSERT d SELECT DATEADD(day, value, '2020-01-01') FROM GENERATE_SERIES(1, 100)", ""},
	})
	for _, tt := range []struct {
		name, sql string
		min, max  int64
	}{
		{"varchar", "SELECT k FROM t WHERE k = '50'", 0, 2},
		{"nvarchar", "SELECT k FROM t WHERE k = N'50'", 100, 100},
		{"datetime", "SELECT k FROM d WHERE k = CAST('2020-02-01' AS datetime)", 0, 2},
		{"datetime2", "SELECT k FROM d WHERE k = CAST('2020-02-01' AS datetime2)", 100, 100},
	} {
		if out := batchText(t, s, tt.sql); strings.Count(out, "\n") != 0 || out == "" {
			t.Errorf("%s: %q", tt.name, out)
		}
		if n := s.RowsExamined(); n < tt.min || n > tt.max {
			t.Errorf("%s: %d rows examined", tt.name, n)
		}
	}
}
