package mssqlcdc

import (
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

func TestBulkInsert(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, name nvarchar(20) NULL, price decimal(10,2) NOT NULL DEFAULT 7)")
		out := r.start("table: dbo.t")
		out.lands(`{"id":1,"name":"é","price":"1.50"}`, `{"id":2,"price":2}`, `{"id":3,"name":null}`)
		r.want("SELECT id, name, price FROM dbo.t ORDER BY id", "1|é|1.50", "2|NULL|2.00", "3|NULL|7.00")
		out.refuses(bulkBatch(`{"id":4,"price":1}`, `{"id":5,"price":"1.005"}`, `{"id":1,"price":1}`, `{"id":6,"price":1}`), map[int][]string{
			1: {"dbo.t", "row 2", "column price", "1.005", "on_lossy.number"},
			2: {"dbo.t", "row 3", "PRIMARY KEY", "mode insert only adds rows"},
		})
		r.want("SELECT id FROM dbo.t ORDER BY id", "1", "2", "3", "4", "6")
	})
}
