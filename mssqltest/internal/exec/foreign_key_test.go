package exec

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestForeignKeyMessages(t *testing.T) {
	s := newSession(t)
	batchText(t, s, `CREATE TABLE p (id int PRIMARY KEY, up int NULL CONSTRAINT fk_up REFERENCES p(id)); INSERT p VALUES (1, NULL), (2, 1);
		CREATE TABLE c (id int PRIMARY KEY, p int NULL CONSTRAINT fk_p REFERENCES p(id)); INSERT c VALUES (1, 2);
		CREATE TABLE k2 (a int, b int, PRIMARY KEY (a, b)); CREATE TABLE c2 (a int, b int, CONSTRAINT fk_2 FOREIGN KEY (a, b) REFERENCES k2)`)
	for _, tc := range []struct{ sql, want string }{
		{"INSERT c VALUES (2, 9)", `The INSERT statement conflicted with the FOREIGN KEY constraint "fk_p". The conflict occurred in database "db", table "dbo.p", column 'id'.`},
		{"UPDATE c SET p = 9", `The UPDATE statement conflicted with the FOREIGN KEY constraint "fk_p". The conflict occurred in database "db", table "dbo.p", column 'id'.`},
		{"DELETE p WHERE id = 2", `The DELETE statement conflicted with the REFERENCE constraint "fk_p". The conflict occurred in database "db", table "dbo.c", column 'p'.`},
		{"UPDATE p SET id = 5 WHERE id = 2", `The UPDATE statement conflicted with the REFERENCE constraint "fk_p". The conflict occurred in database "db", table "dbo.c", column 'p'.`},
		{"INSERT p VALUES (3, 9)", `The INSERT statement conflicted with the FOREIGN KEY SAME TABLE constraint "fk_up". The conflict occurred in database "db", table "dbo.p", column 'id'.`},
		{"DELETE p WHERE id = 1", `The DELETE statement conflicted with the SAME TABLE REFERENCE constraint "fk_up". The conflict occurred in database "db", table "dbo.p", column 'up'.`},
		{"MERGE c USING (SELECT 5 AS id) s ON c.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 9);", `The MERGE statement conflicted with the FOREIGN KEY constraint "fk_p". The conflict occurred in database "db", table "dbo.p", column 'id'.`},
		{"INSERT c2 VALUES (1, 1)", `The INSERT statement conflicted with the FOREIGN KEY constraint "fk_2". The conflict occurred in database "db", table "dbo.k2".`},
		{"ALTER TABLE c ADD CONSTRAINT fk_x FOREIGN KEY (id) REFERENCES k2(b)", "There are no primary or candidate keys in the referenced table 'k2' that match the referencing column list in the foreign key 'fk_x'."},
	} {
		sink := &textSink{}
		if err := s.Batch(context.Background(), tc.sql, sink); err != nil {
			t.Fatal(err)
		}
		if len(sink.errs) == 0 || sink.errs[0].Message != tc.want {
			t.Errorf("%s\n got %v\nwant %s", tc.sql, sink.errs, tc.want)
		}
	}
}

func TestForeignKeyActions(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE p (id int PRIMARY KEY, k varchar(5) UNIQUE); INSERT p VALUES (0, 'z'), (1, 'a'), (2, 'b'), (3, 'c')", ""},
		{"set default", "CREATE TABLE d (n int PRIMARY KEY, p int NOT NULL DEFAULT 0 REFERENCES p(id) ON DELETE SET DEFAULT ON UPDATE SET DEFAULT); INSERT d VALUES (1, 1); DELETE p WHERE id = 1; SELECT p FROM d", "0"},
		{"a default that is not there", "UPDATE d SET p = 2; UPDATE p SET id = 10 WHERE id = 0; DELETE p WHERE id = 2; SELECT p FROM d", "msg 547\n2"},
		{"set null", "CREATE TABLE n (n int PRIMARY KEY, k varchar(5) REFERENCES p(k) ON UPDATE SET NULL ON DELETE NO ACTION); INSERT n VALUES (1, 'c'); UPDATE p SET k = 'C2' WHERE id = 3; SELECT k FROM n", "NULL"},
		{"update cascades by a unique key", "CREATE TABLE u (n int PRIMARY KEY, k varchar(5) REFERENCES p(k) ON UPDATE CASCADE); INSERT u VALUES (1, 'C2'); UPDATE p SET k = 'C3' WHERE id = 3; SELECT k FROM u", "C3"},
		{"null needs no parent", "INSERT u VALUES (2, NULL); SELECT COUNT(*) FROM u", "2"},
		{"set null of not null", "CREATE TABLE x (p int NOT NULL CONSTRAINT fk_x REFERENCES p(id) ON DELETE SET NULL)", "msg 1761"},
		{"set default without", "CREATE TABLE x (p int NOT NULL CONSTRAINT fk_x REFERENCES p(id) ON DELETE SET DEFAULT)", "msg 1762"},
		{"a circle", "CREATE TABLE x (id int PRIMARY KEY, up int NULL REFERENCES x(id) ON DELETE CASCADE)", "msg 1785"},
		{"two ways", "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a(id) ON DELETE CASCADE); CREATE TABLE c (a int REFERENCES a(id) ON DELETE CASCADE, b int REFERENCES b(id) ON DELETE CASCADE)", "msg 1785"},
		{"one of them", "CREATE TABLE c (id int, a int REFERENCES a(id), b int REFERENCES b(id) ON DELETE CASCADE); INSERT a VALUES (1), (2); INSERT b VALUES (11, 1), (22, 2); INSERT c VALUES (1, 2, 11), (2, NULL, 22); DELETE a WHERE id = 1; SELECT id FROM b; SELECT id FROM c", "22\n2"},
		{"stops where there is no action", "INSERT c VALUES (3, 2, NULL); DELETE a WHERE id = 2; SELECT COUNT(*) FROM b; SELECT COUNT(*) FROM c", "msg 547\n1\n2"},
		{"triggers of the children", "CREATE TABLE log (n int IDENTITY, what varchar(20))", ""},
		{"parent", "CREATE TRIGGER tr_a ON a AFTER DELETE AS INSERT log SELECT 'a' + CAST(COUNT(*) AS varchar(5)) FROM deleted", ""},
		{"child", "CREATE TRIGGER tr_b ON b AFTER DELETE AS INSERT log SELECT 'b' + CAST(COUNT(*) AS varchar(5)) FROM deleted", ""},
		{"fire", "DELETE c; DELETE a; DELETE a; SELECT what FROM log ORDER BY n", "a1\nb1\na0"},
		{"dropping a parent", "DROP TABLE a", "msg 3726"},
		{"dropping a column before the key", "CREATE TABLE q (junk int, id int UNIQUE); CREATE TABLE r (junk int, q int REFERENCES q(id)); INSERT q VALUES (1, 5); ALTER TABLE q DROP COLUMN junk; ALTER TABLE r DROP COLUMN junk; INSERT r VALUES (5); INSERT r VALUES (6); DELETE q", "msg 547\nmsg 547"},
	})
}

func TestForeignKeyTrust(t *testing.T) {
	s := newSession(t)
	fk := func(want string) {
		t.Helper()
		d := s.db.Table("dbo", "c").Def()
		got := ""
		for _, k := range d.ForeignKeys {
			got += "fk"
			if k.NotTrusted() {
				got += " untrusted"
			}
			if k.Disabled {
				got += " disabled"
			}
		}
		if got != want {
			t.Errorf("foreign key is %q, want %q", got, want)
		}
	}
	check(t, s, []sqlTest{{"setup", "CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1); CREATE TABLE c (p int CONSTRAINT fk REFERENCES p(id), n int CHECK (n > 0)); INSERT c VALUES (1, 1)", ""}})
	fk("fk")
	check(t, s, []sqlTest{{"off", "ALTER TABLE c NOCHECK CONSTRAINT fk; INSERT c VALUES (7, 1)", ""}})
	fk("fk untrusted disabled")
	check(t, s, []sqlTest{{"on without a look", "ALTER TABLE c CHECK CONSTRAINT fk; INSERT c VALUES (8, 1)", "msg 547"}})
	fk("fk untrusted")
	check(t, s, []sqlTest{{"on with a look", "ALTER TABLE c WITH CHECK CHECK CONSTRAINT fk", "msg 547"}})
	fk("fk untrusted")
	check(t, s, []sqlTest{{"mended", "DELETE c WHERE p = 7; ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL", ""}})
	fk("fk")
	check(t, s, []sqlTest{{"added without a look", "ALTER TABLE c DROP CONSTRAINT fk; INSERT c VALUES (9, 1); ALTER TABLE c WITH NOCHECK ADD CONSTRAINT fk FOREIGN KEY (p) REFERENCES p(id)", ""}})
	fk("fk untrusted")
	check(t, s, []sqlTest{{"added with one", "DELETE c WHERE p = 9; ALTER TABLE c DROP CONSTRAINT fk; ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (p) REFERENCES p(id)", ""}})
	fk("fk")
	load := func(options string, p, n int64) error {
		b, err := s.Bulk(context.Background(), "INSERT BULK c (p int, n int)"+options)
		if err != nil {
			return err
		}
		defer b.Abort()
		if err := b.Row([]value.Value{value.NewInt(value.Int, p), value.NewInt(value.Int, n)}); err != nil {
			return err
		}
		_, err = b.Finish(context.Background())
		return err
	}
	if err := load(" WITH (CHECK_CONSTRAINTS)", 1, 1); err != nil {
		t.Fatal(err)
	}
	fk("fk")
	if err := load(" WITH (CHECK_CONSTRAINTS)", 99, 1); err == nil || !strings.Contains(err.Error(), "547") {
		t.Errorf("checked load: %v", err)
	}
	if err := load("", 99, -1); err != nil {
		t.Fatal(err)
	}
	fk("fk untrusted")
	if !s.db.Table("dbo", "c").Def().Checks[0].NotTrusted() {
		t.Error("the check constraint is still trusted")
	}
	check(t, s, []sqlTest{{"still in force", "INSERT c VALUES (98, 1)", "msg 547"}})
}

// TestForeignKeyRaces: whichever way a parent goes and a child comes at the same time, no orphan stays.
func TestForeignKeyRaces(t *testing.T) {
	for _, iso := range []string{"READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"} {
		t.Run(iso, func(t *testing.T) {
			in := newInstance(t)
			a, b := open(t, in, SessionOptions{}), open(t, in, SessionOptions{})
			check(t, a, []sqlTest{{"setup", "ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON; CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1), (2); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p(id))", ""}})
			for _, s := range []*Session{a, b} {
				batchText(t, s, "SET LOCK_TIMEOUT 0; SET TRANSACTION ISOLATION LEVEL "+iso)
			}
			batchText(t, a, "BEGIN TRAN; SELECT COUNT(*) FROM p; DELETE p WHERE id = 1")
			if got := batchText(t, b, "INSERT c VALUES (1, 1)"); got != "msg 1222" {
				t.Errorf("child of a parent that is being deleted: %q", got)
			}
			batchText(t, b, "BEGIN TRAN; INSERT c VALUES (2, 2)")
			if got := batchText(t, a, "DELETE p WHERE id = 2"); !strings.HasPrefix(got, "msg ") {
				t.Errorf("parent of a child that is coming: %q", got)
			}
			batchText(t, b, "COMMIT")
			batchText(t, a, "IF @@TRANCOUNT > 0 COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
			if got := batchText(t, a, "SELECT COUNT(*) FROM c WHERE p NOT IN (SELECT id FROM p)"); got != "0" {
				t.Errorf("%s orphans", got)
			}
		})
	}
}

// TestForeignKeyUnderSnapshot: a parent that came or went since the snapshot is an update conflict or a missing row, never an
// orphan.
func TestForeignKeyUnderSnapshot(t *testing.T) {
	in := newInstance(t)
	a, b := open(t, in, SessionOptions{}), open(t, in, SessionOptions{})
	check(t, a, []sqlTest{{"setup", "ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON; CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1), (2); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p(id))", ""}})
	batchText(t, a, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM c")
	check(t, b, []sqlTest{{"meanwhile", "DELETE p WHERE id = 1; INSERT c VALUES (2, 2)", ""}})
	if got := batchText(t, a, "INSERT c VALUES (1, 1)"); !strings.HasPrefix(got, "msg ") {
		t.Errorf("child of a parent that is gone: %q", got)
	}
	batchText(t, a, "IF @@TRANCOUNT > 0 ROLLBACK; SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM c")
	check(t, b, []sqlTest{{"meanwhile", "INSERT c VALUES (3, 2)", ""}})
	if got := batchText(t, a, "DELETE c WHERE id = 2; DELETE p WHERE id = 2"); !strings.HasPrefix(got, "msg ") {
		t.Errorf("parent of a child that came: %q", got)
	}
	batchText(t, a, "IF @@TRANCOUNT > 0 COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
	if got := batchText(t, a, "SELECT COUNT(*) FROM c WHERE p NOT IN (SELECT id FROM p)"); got != "0" {
		t.Errorf("%s orphans", got)
	}
}
