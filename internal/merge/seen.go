package merge

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// The side tables stand in the target's schema. {c} is the one with a row for each table that a snapshot is under way of, and {k}
// has the keys that the snapshot has shown of one table, or that changed meanwhile.
const (
	controlTable = "mssql_bulk_snapshots"
	keysTable    = "mssql_bulk_seen_" // and the target's object_id

	sqlObjects = "SELECT OBJECT_ID(@t), OBJECT_ID(@c)"
	declNames  = "@t nvarchar(776), @c nvarchar(776)"
	sqlControl = "CREATE TABLE {c} (table_name nvarchar(128) NOT NULL PRIMARY KEY, snapshot_id nvarchar(128) NOT NULL, incomplete bit NOT NULL, began datetime2(3) NOT NULL)"
	sqlOpen    = "SELECT snapshot_id, incomplete FROM {c} WHERE table_name = @name"
	declOpen   = "@name nvarchar(128)"
	sqlClose   = "DELETE FROM {c} WHERE table_name = @name;\nIF OBJECT_ID(@k) IS NOT NULL DROP TABLE {k};\n"
	declClose  = "@name nvarchar(128), @k nvarchar(776)"
	sqlStart   = "INSERT INTO {c} (table_name, snapshot_id, incomplete, began) VALUES (@name, @id, 0, SYSUTCDATETIME());\n"
	declStart  = declClose + ", @id nvarchar(128)"
	sqlTaint   = "UPDATE {c} SET incomplete = 1 WHERE table_name = @name"
	sqlSee     = "INSERT INTO {k} ({keys}) SELECT {order} FROM {s} s WHERE s.{op} <> 3 AND NOT EXISTS (SELECT 1 FROM {k} t WITH (UPDLOCK, SERIALIZABLE) WHERE {key t s}) ORDER BY {order};"
	// Below the 5,000 locks at which the server locks the table.
	sqlDeleteMissing = "DELETE TOP (4000) t FROM {t} AS t WHERE NOT EXISTS (SELECT 1 FROM {k} s WHERE {key t s});\nSELECT @@ROWCOUNT;"

	deletedAtOnce = 4000
	errExists     = 2714
)

// Seen is a snapshot that is under way: the keys of the target that it has shown are kept on the server, in the transactions that
// bring the rows, so that they survive the writer.
type Seen struct {
	stage         *Stage
	control, keys catalog.Name
	has           bool // the side table of snapshots
	// ID is that of the snapshot, "" if none is under way. Incomplete tells that a row of it was refused.
	ID         string
	Incomplete bool
}

// LoadSeen asks which snapshot is under way of the target.
func (s *Stage) LoadSeen(ctx context.Context, conn *session.Conn) (*Seen, error) {
	n := &Seen{stage: s, control: catalog.Name{Schema: s.target.Name.Schema, Object: controlTable}}
	row, err := conn.QueryRow(ctx, sqlObjects, declNames, s.target.Name.Quoted(), n.control.Quoted())
	if err != nil {
		return nil, n.wrap(err)
	}
	n.keys = catalog.Name{Schema: s.target.Name.Schema, Object: keysTable + strconv.FormatInt(count(row, 0), 10)}
	n.has = row[1] != nil
	return n, n.load(ctx, conn)
}

func (n *Seen) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("keeping the keys of a snapshot of %s: %w", n.stage.target.Name, err)
}

func (n *Seen) text(statement string) string {
	return n.stage.text(statement, "{c}", n.control.Quoted(), "{k}", n.keys.Quoted(), "{keys}", catalog.QuoteList(n.stage.key.names(n.stage.target)))
}

func (n *Seen) load(ctx context.Context, conn *session.Conn) error {
	n.ID, n.Incomplete = "", false
	if !n.has {
		return nil
	}
	row, err := conn.QueryRow(ctx, n.text(sqlOpen), declOpen, n.stage.target.Name.Object)
	if err == session.ErrNoRows { //nolint:errorlint // it is never wrapped
		return nil
	}
	if err != nil {
		return n.wrap(err)
	}
	n.ID, _ = row[0].(string)
	n.Incomplete, _ = row[1].(bool)
	return nil
}

// Begin notes that a snapshot is under way. One that begins again goes on, another takes its place.
func (n *Seen) Begin(ctx context.Context, conn *session.Conn, id string) error {
	if !n.has {
		if err := conn.Batch(ctx, n.text(sqlControl)); err != nil && !session.HasNumber(err, errExists) {
			return n.wrap(err)
		}
		n.has = true
	}
	if err := n.load(ctx, conn); err != nil || n.ID == id {
		return err
	}
	var columns []string
	for _, i := range n.stage.key.Columns {
		c := &n.stage.target.Columns[i]
		columns = append(columns, catalog.Quote(c.Name)+" "+c.Type.ColumnDeclaration()+" NOT NULL")
	}
	create := "CREATE TABLE {k} (" + strings.Join(columns, ", ")
	if n.stage.key.Unique {
		create += ", PRIMARY KEY ({keys})"
	}
	_, err := conn.Exec(ctx, n.text("BEGIN TRANSACTION;\n"+sqlClose+create+");\n"+sqlStart+"COMMIT TRANSACTION;"), declStart, n.stage.target.Name.Object, n.keys.Quoted(), id)
	if err == nil {
		n.ID, n.Incomplete = id, false
	}
	return n.wrap(err)
}

// See keeps the keys of the rows of a folded stage that are not deletions, in the transaction that brings them.
func (n *Seen) See(ctx context.Context, conn *session.Conn) error {
	_, err := conn.Exec(ctx, n.text(sqlSee), "")
	return n.wrap(err)
}

// Taint notes that a row of the snapshot was refused, so that its end deletes nothing.
func (n *Seen) Taint(ctx context.Context, conn *session.Conn) error {
	_, err := conn.Exec(ctx, n.text(sqlTaint), declOpen, n.stage.target.Name.Object)
	n.Incomplete = n.Incomplete || err == nil
	return n.wrap(err)
}

// End deletes the rows that the snapshot has not shown, a few thousand in a transaction, and forgets it. An end that comes again goes
// on. Nothing is deleted by the end of a snapshot that is not the one under way, nor by that of an incomplete one.
func (n *Seen) End(ctx context.Context, conn *session.Conn) (deleted int64, err error) {
	for more := !n.Incomplete; more; {
		row, err := conn.QueryRow(ctx, n.text(sqlDeleteMissing), "")
		if err != nil {
			return deleted, n.wrap(err)
		}
		deleted += count(row, 0)
		more = count(row, 0) == deletedAtOnce
	}
	_, err = conn.Exec(ctx, n.text("BEGIN TRANSACTION;\n"+sqlClose+"COMMIT TRANSACTION;"), declClose, n.stage.target.Name.Object, n.keys.Quoted())
	return deleted, n.wrap(err)
}
