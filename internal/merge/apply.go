package merge

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/session"
)

// ErrorCount is the number of the error when the table has not taken all rows.
const ErrorCount = 50001

// The statements on the target. Each finds its rows in the order of the key and keeps the places of those that are not there, so
// two writers neither insert the same key nor lock each other out.
const (
	sqlLock   = "DECLARE @locked int; SELECT @locked = COUNT(*) FROM {s} s JOIN {t} t WITH (UPDLOCK, SERIALIZABLE) ON {key t s}{hint};\n"
	sqlDelete = "DELETE t FROM {s} s JOIN {t} t WITH (UPDLOCK, SERIALIZABLE) ON {key t s} WHERE s.{op} = 3{hint};\nSET @deleted = @@ROWCOUNT;\n"

	// Updates whose row is neither there nor made by an earlier row of the batch.
	condMissing = `s.{op} = 2 AND NOT EXISTS (SELECT 1 FROM {s} b WHERE {key b s} AND b.{op} = 1 AND b.{seq} < s.{seq})
 AND NOT EXISTS (SELECT 1 FROM {t} t WITH (UPDLOCK, SERIALIZABLE) WHERE {key t s})`
	sqlMissing = "SELECT s.{seq} FROM {s} s WHERE " + condMissing + "{hint};\n"
	sqlIgnore  = "DELETE s FROM {s} s WHERE " + condMissing + "{hint};\n"

	sqlUpdate = "UPDATE t SET {set} FROM {s} s JOIN {t} t WITH (UPDLOCK, SERIALIZABLE) ON {key t s} WHERE s.{op} <> 3{group}{hint};\nSET @updated = @updated + @@ROWCOUNT;\n"
	sqlFound  = "SELECT @updated = COUNT(*) FROM {s} s JOIN {t} t WITH (UPDLOCK, SERIALIZABLE) ON {key t s} WHERE s.{op} <> 3{hint};\n"
	sqlInsert = `INSERT INTO {t} ({columns}) SELECT {values} FROM {s} s
WHERE s.{op} <> 3{group} AND NOT EXISTS (SELECT 1 FROM {t} t WITH (UPDLOCK, SERIALIZABLE) WHERE {key t s}) ORDER BY {order}{hint};
SET @inserted = @inserted + @@ROWCOUNT;
`
	// Without a transaction, as after a request that was cancelled, nothing may be changed.
	sqlCounts = "IF @@TRANCOUNT = 0 THROW 50002, N'the transaction is gone', 1;\nDECLARE @deleted bigint = 0, @updated bigint = 0, @inserted bigint = 0;\n"
	sqlRows   = "DECLARE @rows bigint = (SELECT COUNT(*) FROM {s} s WHERE s.{op} <> 3);\n"
	sqlIf     = "IF @updated < @rows\nBEGIN\n"
	sqlEnd    = "END\n"
	sqlCheck  = "IF @updated + @inserted <> @rows THROW 50001, N'the table has not taken all rows', 1;\n"
	sqlReport = "SELECT @deleted, @updated, @inserted;"

	// The key's index is what rows are to be found by, whatever the server guesses from a temporary table without statistics.
	hintKey = " OPTION (LOOP JOIN, FORCE ORDER)"
)

// Result counts the rows of the target that a batch has changed.
type Result struct{ Deleted, Updated, Inserted int64 }

// Apply does what the stage's rows say, in the caller's transaction. With MissingError it gives the sequence numbers of updates
// whose row is not there; then the transaction must be rolled back and the batch come again without them.
func (s *Stage) Apply(ctx context.Context, conn *session.Conn, c *Content, missing Missing) (r Result, absent []int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("changing %s: %w", s.target.Name, err)
		}
	}()
	begin := ""
	if c.Deletes {
		begin = s.statement(sqlLock) + s.statement(sqlDelete)
	}
	if c.Updates {
		deleted, seqs, err := s.updates(ctx, conn, c, missing, begin)
		if err != nil || len(seqs) > 0 {
			return r, seqs, err
		}
		r.Deleted, begin = deleted, ""
	}
	updates, err := s.groups(ctx, conn, c, c.Whole, func(t *bulkload.TargetColumn) bool { return t.Type.IsLOB() })
	if err != nil {
		return r, nil, err
	}
	inserts, err := s.groups(ctx, conn, c, false, optional)
	if err != nil {
		return r, nil, err
	}
	var b strings.Builder
	b.WriteString(sqlCounts + begin)
	for n, g := range updates {
		set := s.set(c, g)
		if set == "" && n == 0 {
			b.WriteString(s.statement(sqlFound))
		}
		if set != "" {
			b.WriteString(s.statement(sqlUpdate, "{set}", set, "{group}", s.condition(g)))
		}
	}
	if s.key.Unique {
		b.WriteString(s.text(sqlRows) + sqlIf)
	}
	for _, g := range inserts {
		b.WriteString(s.insert(c, g))
	}
	if s.key.Unique {
		b.WriteString(sqlEnd + sqlCheck)
	}
	b.WriteString(sqlReport)
	sets, err := results(ctx, conn, b.String(), "")
	if err != nil {
		return r, nil, err
	}
	row := only(sets, 0)
	return Result{Deleted: r.Deleted + count(row, 0), Updated: count(row, 1), Inserted: count(row, 2)}, nil, nil
}

// only is the first row of a result set, nil if there is none.
func only(sets [][][]driver.Value, set int) []driver.Value {
	if set >= len(sets) || len(sets[set]) == 0 {
		return nil
	}
	return sets[set][0]
}

func count(row []driver.Value, i int) int64 {
	if i >= len(row) {
		return 0
	}
	n, _ := row[i].(int64)
	return n
}

// statement fills in a statement on the target.
func (s *Stage) statement(text string, more ...string) string {
	hint := ""
	if s.key.Unique {
		hint = hintKey
	}
	return s.text(text, append(more, "{hint}", hint)...)
}

// updates deletes, finds the updates without a row, and folds the rest.
func (s *Stage) updates(ctx context.Context, conn *session.Conn, c *Content, missing Missing, begin string) (deleted int64, absent []int64, err error) {
	text := sqlCounts + begin
	if missing == MissingIgnore {
		text += s.statement(sqlIgnore) + s.last(c) + "SELECT CAST(-1 AS bigint);\n"
	} else {
		text += s.statement(sqlMissing)
	}
	sets, err := results(ctx, conn, text+sqlReport, "")
	if err != nil {
		return 0, nil, err
	}
	deleted = count(only(sets, 1), 0)
	if missing == MissingError {
		for _, row := range sets[0] {
			absent = append(absent, count(row, 0))
		}
	}
	if len(absent) > 0 || missing == MissingIgnore {
		return deleted, absent, nil
	}
	if text := s.last(c); text != "" {
		_, err = conn.Exec(ctx, text, "")
	}
	return deleted, nil, err
}
