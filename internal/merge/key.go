package merge

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
)

// sqlIndexes lists the columns of the enabled unique indexes of the table whose quoted
// name is @name: the primary key first, and then those of columns that cannot be NULL.
const (
	sqlIndexes = `SELECT CAST(i.index_id AS int), c.name, c.is_nullable
FROM sys.indexes AS i
 JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
 JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE i.object_id = OBJECT_ID(@name) AND i.type IN (1, 2) AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND ic.key_ordinal > 0
ORDER BY i.is_primary_key DESC, i.index_id, ic.key_ordinal`
	declIndexes = "@name nvarchar(776)"
)

// Key is what the rows of a table are told apart by.
type Key struct {
	Columns []int // of the target; none = the table has no key
	Unique  bool  // by an index over exactly these columns
}

// ErrNoKey is wrapped when a table has no key.
var ErrNoKey = errors.New("the table has neither a primary key nor a unique index over columns that cannot be NULL; add one, or name columns in key_columns")

// LoadKey finds the key of a table: the columns that are named, else the primary key,
// else the first unique index over columns that cannot be NULL.
func LoadKey(ctx context.Context, q catalog.Querier, t *bulkload.Target, named []string) (Key, error) {
	indexes, err := uniqueIndexes(ctx, q, t)
	if err != nil {
		return Key{}, fmt.Errorf("finding the key of %s: %w", t.Name, err)
	}
	if len(named) == 0 {
		if len(indexes) == 0 {
			return Key{}, nil
		}
		return Key{Columns: indexes[0], Unique: true}, nil
	}
	var k Key
	for _, name := range named {
		i := t.Column(name)
		switch {
		case i < 0:
			return Key{}, fmt.Errorf("finding the key of %s: there is no column %s, which key_columns names", t.Name, name)
		case k.has(i):
			return Key{}, fmt.Errorf("finding the key of %s: key_columns names %s twice", t.Name, name)
		case t.Columns[i].Err != nil || !t.Columns[i].Writable():
			return Key{}, fmt.Errorf("finding the key of %s: column %s, which key_columns names, cannot be loaded", t.Name, name)
		}
		k.Columns = append(k.Columns, i)
	}
	for _, x := range indexes {
		same := len(x) == len(k.Columns)
		for _, i := range x {
			same = same && k.has(i)
		}
		k.Unique = k.Unique || same
	}
	return k, nil
}

func (k *Key) has(column int) bool {
	for _, i := range k.Columns {
		if i == column {
			return true
		}
	}
	return false
}

// uniqueIndexes are the unique indexes that can be a key, as columns of the target.
func uniqueIndexes(ctx context.Context, q catalog.Querier, t *bulkload.Target) ([][]int, error) {
	var ids []int64
	columns := map[int64][]int{}
	unfit := map[int64]bool{}
	index := request.Statement{Text: sqlIndexes, Decl: declIndexes, Args: []driver.Value{t.Name.Quoted()}}
	err := request.Each(ctx, q, index, func(_ int, _ []string, row []driver.Value) error {
		id, _ := row[0].(int64)
		name, _ := row[1].(string)
		nullable, _ := row[2].(bool)
		if columns[id] == nil {
			ids = append(ids, id)
		}
		i := t.Column(name)
		columns[id] = append(columns[id], i)
		unfit[id] = unfit[id] || nullable || i < 0 || t.Columns[i].Err != nil || !t.Columns[i].Writable()
		return nil
	})
	var out [][]int
	for _, id := range ids {
		if !unfit[id] {
			out = append(out, columns[id])
		}
	}
	return out, err
}

// Names are the names of the key's columns, for messages.
func (k *Key) Names(t *bulkload.Target) string { return strings.Join(k.names(t), ", ") }

func (k *Key) names(t *bulkload.Target) []string {
	names := make([]string, len(k.Columns))
	for n, i := range k.Columns {
		names[n] = t.Columns[i].Name
	}
	return names
}
