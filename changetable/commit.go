package changetable

import (
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
)

// Commit is a transaction of cdc.lsn_time_mapping. The server keeps its times to
// 1/300 s, in its own time zone; here they are instants.
type Commit struct {
	LSN    checkpoint.LSN
	Begin  time.Time
	End    time.Time
	TranID []byte

	wall time.Time // End as the server has it
}

// Proof is what a position keeps of the transaction.
func (c Commit) Proof() checkpoint.Proof {
	if c.LSN.IsZero() {
		return checkpoint.Proof{}
	}
	return checkpoint.Proof{StartLSN: c.LSN, TranID: c.TranID, EndTime: c.wall}
}

// commitOf reads start_lsn, tran_begin_time, tran_end_time and tran_id.
func commitOf(row []driver.Value, loc *time.Location) (c Commit, err error) {
	if len(row) != 4 {
		return c, fmt.Errorf("reading cdc.lsn_time_mapping: %d columns", len(row))
	}
	if c.LSN, err = request.LSN(row[0]); err != nil {
		return c, err
	}
	begin, beginOK := row[1].(time.Time)
	end, endOK := row[2].(time.Time)
	id, idOK := row[3].([]byte)
	if !beginOK && row[1] != nil || !endOK && row[2] != nil || !idOK && row[3] != nil {
		return c, fmt.Errorf("reading cdc.lsn_time_mapping: the driver gave a %T, a %T and a %T", row[1], row[2], row[3])
	}
	if beginOK {
		c.Begin = catalog.ToUTC(begin, loc)
	}
	if endOK {
		c.End = catalog.ToUTC(end, loc)
		c.wall = catalog.ToUTC(end, time.UTC)
	}
	c.TranID = append([]byte(nil), id...)
	return c, nil
}
