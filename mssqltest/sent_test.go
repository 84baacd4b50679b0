package mssqltest_test

import (
	"bytes"
	"fmt"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// A table that is read again gives the same bytes, whatever was kept of it: columns in another order, rows that have changed
// meanwhile, limits.
func TestRowsThatAreReadAgain(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a nvarchar(20) NULL, b nvarchar(20) NULL, c decimal(9,2) NULL)")
	execScript(t, s, "INSERT dbo.t VALUES (1, N'a1', N'b1', 1.5), (2, NULL, N'é😀', NULL), (3, N'a3', NULL, -2)")
	queries := []string{
		"SELECT id, a, b, c FROM dbo.t ORDER BY id", "SELECT id, b AS a, a AS b, c FROM dbo.t ORDER BY id", "SELECT TOP (2) id, a, b, c FROM dbo.t ORDER BY id",
		"SELECT id, a, b, c FROM dbo.t WHERE id > 1 ORDER BY id", "SELECT id, a, b, c FROM dbo.t ORDER BY id DESC", "SELECT id, a FROM dbo.t ORDER BY id OFFSET 1 ROWS",
		"SET ROWCOUNT 2; SELECT id, a, b, c FROM dbo.t ORDER BY id", "SELECT c, id, c FROM dbo.t ORDER BY id", "SELECT DISTINCT a FROM dbo.t", "SELECT id, a, b, c FROM (SELECT * FROM dbo.t) AS x ORDER BY id",
	}
	first := map[string][]byte{}
	for round := range 4 {
		for _, q := range queries {
			got := dialRaw(t, s).ask(t, batchMessage(q))
			if round == 0 {
				first[q] = got
			} else if !bytes.Equal(got, first[q]) {
				t.Errorf("round %d of %s:\n%x, at first\n%x", round+1, q, got, first[q])
			}
		}
	}
	execScript(t, s, "UPDATE dbo.t SET a = N'new' WHERE id = 1; DELETE dbo.t WHERE id = 2")
	rows, err := s.Query("SELECT id, a, b, c FROM dbo.t ORDER BY id")
	if err != nil || fmt.Sprint(rows) != "[[1 new b1 1.50] [3 a3 NULL -2.00]]" {
		t.Errorf("after a change: %v, %v", rows, err)
	}
	if got := dialRaw(t, s).ask(t, batchMessage(queries[0])); bytes.Equal(got, first[queries[0]]) {
		t.Error("the rows are those of before the change")
	}
}
