package capture

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

const (
	// staleAge is the age of the newest captured transaction at which capture is called late. An idle database gets a dummy
	// transaction about every five minutes.
	staleAge = 10 * time.Minute
	// healthInterval is how often the capture job's own errors are looked at.
	healthInterval = time.Minute
)

// health watches what would otherwise go unnoticed: a capture job that stands still looks like a quiet database, and a column
// that was added is never in the changes of the instance that is read.
type health struct {
	flow    *Flow
	late    bool
	ddl     checkpoint.LSN // the last statement of cdc.ddl_history that was looked at
	started bool
	errors  time.Time // the newest error of the capture job that was told
	looked  time.Time
}

// look is called once per turn; moved says that the watermark has moved.
func (h *health) look(ctx context.Context, state *catalog.State, moved bool) {
	h.age(state)
	if moved {
		h.statements(ctx, state)
	}
	if time.Since(h.looked) >= healthInterval {
		h.looked = time.Now()
		h.scanErrors(ctx)
	}
}

func (h *health) age(state *catalog.State) {
	late := !state.High.LSN.IsZero() && state.Age > staleAge
	if late && !h.late {
		h.flow.cfg.Observer.Note("", fmt.Sprintf("the capture job has stored nothing for %s, although an idle database gets a transaction about every five minutes; changes wait in the log meanwhile. Look at sys.dm_cdc_errors, and start the job with: EXEC sys.sp_cdc_start_job N'capture' (after a failover it may have to be added with sys.sp_cdc_add_job)", state.Age.Round(time.Second)))
	}
	if !late && h.late {
		h.flow.cfg.Observer.Note("", "the capture job stores transactions again")
	}
	h.late = late
}

// statements tells of new columns, and makes workers describe their instance anew when a column's type has changed.
func (h *health) statements(ctx context.Context, state *catalog.State) {
	f := h.flow
	if !h.started {
		h.ddl, h.started = state.High.LSN, true
		return
	}
	var ddl []catalog.DDL
	err := f.meta.ask(func(c *session.Conn) (err error) {
		ddl, err = catalog.DDLSince(ctx, c, h.ddl)
		return err
	})
	if err != nil {
		return // the next turn meets what is wrong with the connection; a missing right was told at the start
	}
	for _, d := range ddl {
		h.ddl = d.LSN
		f.mu.Lock()
		w := f.workers[d.SourceID]
		if w != nil && d.ColumnAltered {
			w.stale = true
		}
		f.mu.Unlock()
		if w == nil {
			continue
		}
		text := strings.Join(strings.Fields(d.Command), " ")
		if d.ColumnAltered {
			f.cfg.Observer.Note(w.table.key(), "the type of a captured column was changed: "+text)
			continue
		}
		f.cfg.Observer.Note(w.table.key(), "the table was changed, and changes keep the columns of the capture instance: "+text+
			"; for a new column, enable a second instance with sys.sp_cdc_enable_table, and reading goes over to it")
	}
}

// scanErrors tells the capture job's errors once each. The view is empty on secondaries and needs VIEW DATABASE STATE.
func (h *health) scanErrors(ctx context.Context) {
	f := h.flow
	var found []catalog.ScanError
	err := f.meta.ask(func(c *session.Conn) (err error) {
		found, err = catalog.LoadScanErrors(ctx, c)
		return err
	})
	if err != nil {
		return
	}
	newest := h.errors
	for _, e := range found {
		if !e.Time.After(h.errors) {
			continue
		}
		if e.Time.After(newest) {
			newest = e.Time
		}
		f.cfg.Observer.Note("", fmt.Sprintf("the capture job met error %d at %s (server time): %s", e.Number, e.Time.Format("2006-01-02 15:04:05"), e.Message))
	}
	h.errors = newest
}
