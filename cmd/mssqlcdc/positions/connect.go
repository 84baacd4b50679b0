package positions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/stores"
)

// Where Redpanda Connect's input keeps its LSN: a table of its own with one row, or a key of a cache resource. It is one LSN for
// all tables. Versions up to 4.106 store it when a part of its transaction is delivered, so it says nothing about the rest.
const (
	connectTable    = "rpcn.CdcCheckpointCache"
	connectTableKey = "max_lsn"
	connectCacheKey = "microsoft_sql_server_cdc"
)

const (
	sqlForeignColumns = `SELECT c.name FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(@name, N'U')`
	// The column is varbinary(10); old tables have the bytes in a varchar.
	sqlConnectValue = `SELECT CONVERT(varbinary(20), cache_val) FROM {table} WHERE cache_key = @key`
)

// readConnectTable reads the table, which it knows by its columns, and writes nothing to it.
func readConnectTable(ctx context.Context, c *call, in *input) (f foreign, err error) {
	name, err := catalog.ParseName(c.String("source-table"))
	if err != nil {
		return f, fmt.Errorf("--source-table: %w", err)
	}
	conf := in.store.Session()
	if dsn := c.String("source-connection"); dsn != "" {
		conf = session.Config{ConnectionString: dsn, AppName: "mssqlcdc positions"}
		conf.Dial = session.InProcess(conf)
	}
	if conf.ConnectionString == "" {
		return f, errors.New("give --source-connection, the server with Redpanda Connect's table")
	}
	conf.ConnectTimeout = sourceBound
	conn, err := session.Open(ctx, conf)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	columns, err := stores.Rows(ctx, conn, sqlForeignColumns, "@name nvarchar(1000)", name.Quoted())
	if err != nil {
		return f, fmt.Errorf("looking for table %s: %w", name, err)
	}
	if len(columns) == 0 {
		return f, fmt.Errorf("there is no table %s, or the login may not see it; --source-table names another", name)
	}
	found := map[string]bool{}
	for _, row := range columns {
		if n, ok := row[0].(string); ok {
			found[strings.ToLower(n)] = true
		}
	}
	if len(columns) != 2 || !found["cache_key"] || !found["cache_val"] {
		return f, fmt.Errorf("table %s is not one of Redpanda Connect: that has the columns cache_key and cache_val", name)
	}
	key := c.String("source-key")
	if key == "" {
		key = connectTableKey
	}
	rows, err := stores.Rows(ctx, conn, strings.ReplaceAll(sqlConnectValue, "{table}", name.Quoted()), "@key varchar(128)", key)
	if err != nil {
		return f, fmt.Errorf("reading table %s: %w", name, err)
	}
	if len(rows) == 0 {
		return f, fmt.Errorf("table %s has no row with the key %s: Redpanda Connect's input has stored nothing yet", name, key)
	}
	value, _ := rows[0][0].([]byte)
	f.reader = fmt.Sprintf("Redpanda Connect's table %s", name)
	f.lsn, err = connectLSN(value)
	if err != nil {
		err = fmt.Errorf("table %s: %w", name, err)
	}
	return f, err
}

// readConnectCache reads the value of a cache resource of the pipeline, or a file with it.
func readConnectCache(ctx context.Context, c *call, p *document) (f foreign, err error) {
	label, file, key := c.String("source-cache"), c.String("value"), c.String("source-key")
	if (label == "") == (file == "") {
		return f, errors.New("give --source-cache, the label of the cache resource, or --value, a file with its value")
	}
	if key == "" {
		key = connectCacheKey
	}
	var value []byte
	if file != "" {
		f.reader = "Redpanda Connect's value in " + file
		if value, err = readBounded(file, c.opts.In); err != nil {
			return f, fmt.Errorf("reading --value: %w", err)
		}
	} else {
		f.reader = fmt.Sprintf("Redpanda Connect's key %s in cache %s", key, label)
		cache, done, err := p.cacheValue(label, key)
		if err != nil {
			return f, err
		}
		v, found, err := cache.Get(ctx)
		if err = errors.Join(err, done(context.WithoutCancel(ctx))); err != nil {
			return f, err
		}
		if !found {
			return f, fmt.Errorf("cache %s has no key %s: Redpanda Connect's input has stored nothing yet; --source-key names another", label, key)
		}
		value = v
	}
	f.lsn, err = connectLSN(value)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.reader, err)
	}
	return f, err
}

// connectLSN is the value: 10 raw bytes.
func connectLSN(value []byte) (checkpoint.LSN, error) {
	lsn, err := checkpoint.LSNFromBytes(value)
	if err == nil && lsn.IsZero() {
		err = errors.New("the LSN is zero")
	}
	if err != nil {
		return lsn, fmt.Errorf("the value is not an LSN: %w", err)
	}
	return lsn, nil
}

// inputLimit bounds the files that are imported from.
const inputLimit = 64 << 20

// readBounded reads a file, or stdin for -.
func readBounded(name string, stdin io.Reader) (_ []byte, err error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, inputLimit+1))
	if err == nil && len(text) > inputLimit {
		err = fmt.Errorf("%s is larger than %d MiB", name, inputLimit>>20)
	}
	return text, err
}
