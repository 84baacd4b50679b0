package compat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// CDC docs: the change table has a rowversion as binary(8); it comes as those eight bytes.
func TestRowversionIsItsBytes(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, rv rowversion)")
		r.enable("t")
		r.sql("INSERT dbo.t (id) VALUES (1)")
		r.scan()
		var want []byte
		if err := r.db.admin.QueryRowContext(r.ctx, "SELECT rv FROM dbo.t").Scan(&want); err != nil {
			r.t.Fatal(err)
		}
		r.start("")
		r.expect(fmt.Sprintf(`dbo.t insert {"id":1,"rv":"%s"}`, base64.StdEncoding.EncodeToString(want)))
	})
}

// Values around the sizes at which the protocol and the server change their ways come whole.
func TestLargeValuesComeWhole(t *testing.T) {
	sizes := []int{0, 1, 4000, 4001, 8000, 8001, 65_535, 65_536, 1_000_000}
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("EXEC sp_configure 'show advanced options', 1; RECONFIGURE\nGO\nEXEC sp_configure 'max text repl size', -1; RECONFIGURE")
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(max), n nvarchar(max), b varbinary(max))")
		r.enable("t")
		for i, n := range sizes {
			r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d, REPLICATE(CAST('v' AS varchar(max)), %d), REPLICATE(CAST(N'名' AS nvarchar(max)), %d), CAST(REPLICATE(CAST('b' AS varchar(max)), %d) AS varbinary(max)))", i, n, n, n))
		}
		r.scan()
		r.start("")
		for i, m := range r.take(len(sizes)) {
			var row struct {
				V, N string
				B    []byte
			}
			if err := json.Unmarshal(m.body, &row); err != nil {
				r.t.Fatal(err)
			}
			n := sizes[i]
			if row.V != strings.Repeat("v", n) || row.N != strings.Repeat("名", n) || string(row.B) != strings.Repeat("b", n) {
				t.Errorf("values of %d came as %d, %d and %d", n, len(row.V), len(row.N)/3, len(row.B))
			}
		}
	})
}
