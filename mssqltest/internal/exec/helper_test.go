package exec

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// testSysdatabases is the one system view that Chinook's script reads.
func testSysdatabases() *View {
	return &View{Schema: "dbo", Name: "sysdatabases", InMaster: true, Columns: []Column{{Name: "name", Type: sysnameType(nil)}},
		Rows: func(c *Context) iter.Seq2[[]value.Value, error] {
			return func(yield func([]value.Value, error) bool) {
				for _, db := range c.Instance().Storage.Databases() {
					if !yield([]value.Value{value.NewNVarChar(db.Name())}, nil) {
						return
					}
				}
			}
		}}
}

const chinookDates = "2021-01-01 00:00:00.000|2025-12-22 00:00:00.000"
