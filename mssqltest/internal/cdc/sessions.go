package cdc

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// keptSessions is how many log scan sessions and errors the views show.
const keptSessions = 32

// session is one row of sys.dm_cdc_log_scan_sessions: a scan of the log.
type session struct {
	id                    int
	start, end            time.Time
	first, last           storage.LSN
	lastTime              time.Time
	firstBegin            storage.LSN
	lastCDC               storage.LSN
	lastCDCTime           time.Time
	trans, commands       int64
	records, schema       int64
	errors, empty, failed int
	latency               time.Duration
	phase                 string
}

// scanError is a row of sys.dm_cdc_errors.
type scanError struct {
	session int
	at      time.Time
	err     *sqlerr.Error
	start   storage.LSN
	begin   storage.LSN
	seq     storage.LSN
}

// sessionLog is what a capture job remembers for the dynamic management views.
type sessionLog struct {
	next   int
	kept   []session
	total  session
	errors []scanError
}

func newSession(at time.Time) *session { return &session{start: at, phase: "Done"} }

// count adds a captured transaction.
func (s *session) count(r *storage.LogRecord, w *captureWriter) {
	if s.first.IsZero() {
		s.first = r.Commit
	}
	s.last, s.lastTime = r.Commit, r.EndTime
	s.records += int64(len(r.Changes) + len(r.DDL))
	s.schema += w.ddl
	if w.commands == 0 {
		return
	}
	s.trans++
	s.commands += w.commands
	if s.firstBegin.IsZero() {
		s.firstBegin = r.Begin
	}
	s.lastCDC, s.lastCDCTime = r.Commit, r.EndTime
	s.latency = time.Since(r.EndTime)
}

// finished keeps a session; scans that found nothing are counted in one row.
func (j *Job) finished(s *session) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.end = time.Now()
	j.sessions.add(s)
}

// failed keeps a session that ended with an error, and the error.
func (j *Job) failed(s *session, r *storage.LogRecord, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.end, s.errors, s.failed, s.phase = time.Now(), 1, 1, "Log Reader Scan"
	l := &j.sessions
	l.add(s)
	e := scanError{session: l.next, at: s.end, err: serverError(err), start: r.Commit, begin: r.Begin}
	if len(r.Changes) > 0 {
		e.seq = r.Changes[0].Seq
	}
	l.errors = append(l.errors, e)
	if len(l.errors) > keptSessions {
		l.errors = l.errors[len(l.errors)-keptSessions:]
	}
}

func (l *sessionLog) add(s *session) {
	if s.first.IsZero() && s.errors == 0 {
		l.addEmpty(s.start, s.end)
		return
	}
	l.next++
	s.id = l.next
	l.keep(*s)
	t := &l.total
	if t.start.IsZero() {
		t.start, t.first, t.firstBegin, t.phase = s.start, s.first, s.firstBegin, s.phase
	}
	t.end, t.phase = s.end, s.phase
	t.trans, t.commands, t.records, t.schema = t.trans+s.trans, t.commands+s.commands, t.records+s.records, t.schema+s.schema
	t.errors, t.failed = t.errors+s.errors, t.failed+s.failed
	if !s.last.IsZero() {
		t.last, t.lastTime = s.last, s.lastTime
	}
	if !s.lastCDC.IsZero() {
		t.lastCDC, t.lastCDCTime, t.latency = s.lastCDC, s.lastCDCTime, s.latency
	}
}

// addEmpty counts a scan that found nothing.
func (l *sessionLog) addEmpty(start, end time.Time) {
	l.total.empty++
	if n := len(l.kept); n > 0 && l.kept[n-1].first.IsZero() && l.kept[n-1].errors == 0 {
		l.kept[n-1].empty++
		l.kept[n-1].end = end
		return
	}
	l.next++
	l.keep(session{id: l.next, start: start, end: end, empty: 1, phase: "Done"})
}

func (l *sessionLog) keep(s session) {
	l.kept = append(l.kept, s)
	if len(l.kept) > keptSessions {
		l.kept = l.kept[len(l.kept)-keptSessions:]
	}
}

// scanSessions lists the totals and then the sessions. A job that found nothing to do since its last polling interval
// shows the empty scan that it would have made.
func (j *Job) scanSessions() []session {
	running := j.Running()
	pending := len(j.db.LogRecords(storage.LSN{}, 1)) > 0
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &j.sessions
	polling := time.Duration(max(j.polling, 1)) * time.Second
	if n := len(l.kept); n > 0 && running && !pending && time.Since(l.kept[n-1].end) >= polling {
		now := time.Now()
		l.addEmpty(now, now)
	}
	return append([]session{l.total}, l.kept...)
}

// scanErrors lists the errors of the job.
func (j *Job) scanErrors() []scanError {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]scanError(nil), j.sessions.errors...)
}

// injection is an error that the next scans fail with.
type injection struct {
	err   *sqlerr.Error
	times int
}

// InjectError makes the next scans that find a transaction fail with an error of that number and text: times of them, or
// all until ClearErrors when times is 0.
func (j *Job) InjectError(number int32, text string, times int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.injected = append(j.injected, injection{err: &sqlerr.Error{Number: number, Class: 16, State: 1, Message: text}, times: times})
}

// ClearErrors takes injected errors back and empties sys.dm_cdc_errors.
func (j *Job) ClearErrors() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.injected, j.sessions.errors = nil, nil
}

// takeInjection is the next injected error, nil without one.
func (j *Job) takeInjection() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.injected) == 0 {
		return nil
	}
	i := &j.injected[0]
	err := i.err
	if i.times > 0 {
		if i.times--; i.times == 0 {
			j.injected = j.injected[1:]
		}
	}
	return err
}
