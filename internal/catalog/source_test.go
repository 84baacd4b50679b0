package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/mssqltest"
)

func TestLoadSource(t *testing.T) {
	srv, conn := start(t, mssqltest.Config{},
		"CREATE TABLE dbo.s (a int NOT NULL, b varchar(10) COLLATE Polish_CI_AS NOT NULL, c int NULL, d sysname NOT NULL MASKED WITH (FUNCTION = 'default()'), CONSTRAINT pk PRIMARY KEY NONCLUSTERED (b DESC, a), INDEX ux UNIQUE (c), INDEX uf UNIQUE (d) WHERE a > 1, INDEX ix (a), INDEX ud UNIQUE (d))",
		"EXEC sys.sp_cdc_enable_table N'dbo', N's', @role_name = NULL", "INSERT dbo.s VALUES (1, 'x', 2, N'y'), (2, 'y', 3, N'z')")
	inst, err := catalog.LoadInstance(t.Context(), conn, "dbo_s")
	if err != nil {
		t.Fatal(err)
	}
	load := func() *catalog.Source {
		t.Helper()
		s, err := catalog.LoadSource(t.Context(), conn, inst.SourceID, inst.Source)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load()
	if s.Rows != 2 || s.Snapshot || !s.Unmask || len(s.Policies) > 0 {
		t.Errorf("source %+v", s)
	}
	var got []string
	for _, x := range s.Indexes {
		for _, c := range x.Columns {
			got = append(got, fmt.Sprintf("%v %s %s %s %v %v %v %v", x.Primary, c.Name, c.Type, c.Type.Collation, c.Type.Nullable, c.Descending, c.Masked, c.Err))
		}
	}
	for _, want := range []string{
		"true b varchar(10) Polish_CI_AS false true false <nil>", "true a int  false false false <nil>", "false c int  true false false <nil>",
		"false d nvarchar(128) SQL_Latin1_General_CP1_CI_AS false false true <nil>",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 4 {
		t.Errorf("indexes\n%s", strings.Join(got, "\n"))
	}
	if err := srv.Exec("ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"); err != nil {
		t.Fatal(err)
	}
	if !load().Snapshot {
		t.Error("SNAPSHOT isolation is allowed now")
	}
	if err := srv.Exec("DROP TABLE dbo.s"); err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.LoadSource(t.Context(), conn, inst.SourceID, inst.Source); err == nil || !strings.Contains(err.Error(), "dbo.s: it does not exist") {
		t.Errorf("a table that is gone: %v", err)
	}
}
