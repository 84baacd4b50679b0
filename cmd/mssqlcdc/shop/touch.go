package shop

import (
	"fmt"
	"strings"

	"example.com/mssqlcdc/mssqltest"
)

// touchable are the types whose values can be changed without knowing what they mean, with the change.
var touchable = map[string]string{
	"int": "%[1]s ^ 1", "bigint": "%[1]s ^ 1", "smallint": "%[1]s ^ 1", "tinyint": "%[1]s ^ 1", "bit": "%[1]s ^ 1",
	"decimal": "-%[1]s", "numeric": "-%[1]s", "money": "-%[1]s", "smallmoney": "-%[1]s", "float": "-%[1]s", "real": "-%[1]s",
	"nvarchar": "REVERSE(%[1]s)", "varchar": "REVERSE(%[1]s)", "datetime": "DATEADD(day, 1, %[1]s)", "datetime2": "DATEADD(day, 1, %[1]s)",
	"date": "DATEADD(day, 1, %[1]s)",
}

// Touch makes one step for each table of any database: an update of up to three rows, in a column that is neither part of a
// key nor of a foreign key. Tables without such a column are left alone.
func Touch(srv *mssqltest.Server, database string, tables []string) ([]Step, error) {
	var steps []Step
	for _, table := range tables {
		columns, err := srv.Query(fmt.Sprintf(`USE [%s];
SELECT c.name, t.name FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id
WHERE c.object_id = OBJECT_ID(N'%s') AND c.is_identity = 0 AND c.is_computed = 0
 AND NOT EXISTS (SELECT 1 FROM sys.index_columns AS ic JOIN sys.indexes AS i ON i.object_id = ic.object_id AND i.index_id = ic.index_id
   WHERE ic.object_id = c.object_id AND ic.column_id = c.column_id AND i.is_unique = 1)
 AND NOT EXISTS (SELECT 1 FROM sys.foreign_key_columns AS f WHERE f.parent_object_id = c.object_id AND f.parent_column_id = c.column_id)
ORDER BY c.column_id DESC`, strings.ReplaceAll(database, "]", "]]"), strings.ReplaceAll(table, "'", "''")))
		if err != nil {
			return nil, fmt.Errorf("looking at %s: %w", table, err)
		}
		for _, c := range columns {
			change, ok := touchable[c[1]]
			if !ok {
				continue
			}
			name := "[" + strings.ReplaceAll(c[0], "]", "]]") + "]"
			steps = append(steps, Step{What: "rows of " + table + " change", Statements: []string{
				fmt.Sprintf("UPDATE TOP (3) %s SET %s = %s", table, name, fmt.Sprintf(change, name)),
			}})
			break
		}
	}
	if len(steps) < 3 {
		return nil, fmt.Errorf("changing the tables: only %d of them have a column that can be changed blindly", len(steps))
	}
	return steps, nil
}
