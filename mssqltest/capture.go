package mssqltest

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/cdc"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// CaptureStart starts the capture job of a database ("" means Config.Database), as it starts by itself with the first
// table that is enabled.
func (c *Control) CaptureStart(database string) error {
	return c.job(database, func(j *cdc.Job) error { j.Start(); return nil })
}

// CaptureStop stops the capture job: commits go on, change tables and the maximum LSN stand still.
func (c *Control) CaptureStop(database string) error {
	return c.job(database, func(j *cdc.Job) error { j.Stop(); return nil })
}

// Agent says whether the SQL Server Agent runs, which sys.dm_server_services shows. Jobs are left as they are.
func (c *Control) Agent(runs bool) { c.s.storage.SetAgent(runs) }

// CaptureDelay sets how long the running capture job waits after a commit.
func (c *Control) CaptureDelay(database string, d time.Duration) error {
	return c.job(database, func(j *cdc.Job) error { j.SetDelay(d); return nil })
}

// CaptureScan handles by hand what the log has, whether the job runs or not.
func (c *Control) CaptureScan(ctx context.Context, database string) error {
	return c.job(database, func(j *cdc.Job) error { return j.Scan(ctx) })
}

// CaptureError makes the next scans that find a transaction fail with an error of that number, which sys.dm_cdc_errors
// then shows: times of them, or with 0 all until CaptureErrorsClear.
func (c *Control) CaptureError(database string, number int32, message string, times int) error {
	return c.job(database, func(j *cdc.Job) error { j.InjectError(number, message, times); return nil })
}

// CaptureErrorsClear takes injected errors back and empties sys.dm_cdc_errors.
func (c *Control) CaptureErrorsClear(database string) error {
	return c.job(database, func(j *cdc.Job) error { j.ClearErrors(); return nil })
}

// Cleanup removes the changes of a capture instance below a low water mark ("0x" and twenty hex digits), as
// sp_cdc_cleanup_change_table does: first the instance's start_lsn moves, then rows go, threshold at a time.
func (c *Control) Cleanup(database, instance, lowWaterMark string, threshold int) error {
	raw, err := hex.DecodeString(strings.TrimPrefix(strings.ToLower(lowWaterMark), "0x"))
	if err != nil || len(raw) != len(storage.LSN{}) {
		return fmt.Errorf("cleaning up %s: %q is no LSN", instance, lowWaterMark)
	}
	db, err := c.database(database)
	if err != nil {
		return err
	}
	mark := storage.LSN(raw)
	return c.s.cdc.CleanupInstance(context.Background(), db, instance, &mark, int64(threshold), nil)
}

// CleanupJob runs the cleanup job of a database once, now, with the retention that it is set to.
func (c *Control) CleanupJob(database string) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	return c.s.cdc.RunCleanup(context.Background(), db)
}

// OldChangeTables makes instances that are enabled from now on have change tables of the old kind, without
// __$command_id, as servers have that were upgraded.
func (c *Control) OldChangeTables(database string, on bool) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	c.s.cdc.Configure(db, cdc.Options{WithoutCommandID: on})
	return nil
}

func (c *Control) job(database string, f func(*cdc.Job) error) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	j := c.s.cdc.Job(db)
	if j == nil {
		return fmt.Errorf("finding capture job of %s: no table is enabled for change data capture", db.Name())
	}
	return f(j)
}
