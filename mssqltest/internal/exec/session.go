package exec

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Replica is a readable secondary: Root is what it has applied of a database by now.
type Replica struct {
	Root func(db *storage.Database) *storage.Root
}

// SessionOptions says who connects and to what.
type SessionOptions struct {
	SPID              int // 0 = the next free one
	Login             string
	Database          string // "" = the login's default, or master
	AppName, HostName string
	ReadOnlyIntent    bool
	Replica           *Replica // nil = the primary
}

// Session is one connection's state. Its methods are called from one goroutine at a time, apart from Kill and the
// getters of what sys.dm_exec_sessions shows.
type Session struct {
	in        *Instance
	spid      int
	login     string
	app, host string
	readOnly  bool
	replica   *Replica
	loginTime time.Time

	db     *storage.Database
	seenDB atomic.Pointer[storage.Database] // db, for other sessions
	opt    Options
	env    value.Env

	tran     tranState
	temp     tempScope
	handles  map[int32]*prepared
	lastH    int32
	identIns map[int32]bool // tables with IDENTITY_INSERT ON, by object id: at most one
	nest     int
	// lastIdentity is @@IDENTITY; scopes keep their own SCOPE_IDENTITY().
	lastIdentity, batchIdentity value.Value
	rowCount                    int64
	lastError                   int32
	raised                      *sqlerr.Error // by RAISERROR, which XACT_ABORT does not heed
	origin                      origin
	cursors                     map[string]*cursor // global ones
	fetchStatus                 int64
	cursorRows                  int64
	stats                       StatementStats
	contextInfo                 []byte
	context                     map[string]contextValue // of sp_set_session_context

	killed   atomic.Bool
	statusMu sync.Mutex
	status   SessionStatus // as of the last request
	cancel   context.CancelFunc
}

// NewSession opens a session; error 4060 if its database cannot be opened by the login.
func (in *Instance) NewSession(o SessionOptions) (*Session, error) {
	s := &Session{
		in: in, login: o.Login, app: o.AppName, host: o.HostName, readOnly: o.ReadOnlyIntent, replica: o.Replica,
		loginTime: time.Now(), opt: defaultOptions(), handles: map[int32]*prepared{}, identIns: map[int32]bool{},
		cursors: map[string]*cursor{},
	}
	if s.login == "" {
		s.login = "sa"
	}
	name := o.Database
	if name == "" {
		name = s.defaultDatabase()
	}
	db := in.Storage.Database(name)
	if db == nil || db.Props().Offline || !s.mayUse(db) {
		return nil, sqlerr.New(4060, name)
	}
	s.db = db
	s.seenDB.Store(db)
	s.initEnv()
	s.tran.init(s)
	in.mu.Lock()
	defer in.mu.Unlock()
	s.spid = o.SPID
	if s.spid == 0 {
		for in.sessions[in.nextSPID] != nil {
			in.nextSPID++
		}
		s.spid = in.nextSPID
		in.nextSPID++
	}
	in.sessions[s.spid] = s
	s.tran.owner = in.Storage.NewOwner(s.spid)
	return s, nil
}

// Close rolls back what is open and frees the session's temporary tables and application locks.
func (s *Session) Close() {
	s.rollbackAll()
	s.dropTempTables()
	s.in.Storage.ReleaseOwner(s.tran.owner)
	s.in.mu.Lock()
	delete(s.in.sessions, s.spid)
	s.in.mu.Unlock()
}

// Reset puts the session back to how it was after the login (RESETCONNECTION, sp_reset_connection); the transaction
// stays open if keepTran is set.
func (s *Session) Reset(ctx context.Context, keepTran bool) {
	if !keepTran {
		s.rollbackAll()
	}
	s.dropTempTables()
	iso := s.opt.Isolation
	s.opt = defaultOptions()
	if keepTran {
		s.opt.Isolation = iso
	}
	s.handles = map[int32]*prepared{}
	s.cursors, s.fetchStatus, s.cursorRows = map[string]*cursor{}, 0, 0
	s.identIns = map[int32]bool{}
	s.lastIdentity, s.batchIdentity = value.Value{}, value.Value{}
	s.contextInfo, s.context = nil, nil
	s.initEnv()
}

// defaultDatabase is the login's default database.
func (s *Session) defaultDatabase() string {
	if l, ok := s.in.Storage.Logins.Login(s.login); ok && l.DefaultDatabase != "" {
		return l.DefaultDatabase
	}
	return "master"
}

// initEnv builds the environment of scalar functions from the options.
func (s *Session) initEnv() {
	s.env = value.Env{
		Now: time.Now, Location: s.in.Storage.Location(), DateFirst: s.opt.DateFirst, DateFormat: s.opt.DateFormat,
		DBCollation: s.db.Collation,
	}
}

// SPID is the session's number, @@SPID.
func (s *Session) SPID() int { return s.spid }

// Login is the name that the session logged in with.
func (s *Session) Login() string { return s.login }

// AppName and the other getters are what the client said of itself.
func (s *Session) AppName() string { return s.app }

// HostName is the client's machine.
func (s *Session) HostName() string { return s.host }

// LoginTime is when the session began.
func (s *Session) LoginTime() time.Time { return s.loginTime }

// ReadOnlyIntent reports ApplicationIntent=ReadOnly.
func (s *Session) ReadOnlyIntent() bool { return s.readOnly }

// Replica is the secondary that the session reads, nil on the primary.
func (s *Session) Replica() *Replica { return s.replica }

// Instance is the instance that the session belongs to.
func (s *Session) Instance() *Instance { return s.in }

// Database is the session's current database.
func (s *Session) Database() *storage.Database { return s.seenDB.Load() }

// SetDatabase changes the current database as USE does: 911 if there is none, 916 without a user in it.
func (s *Session) SetDatabase(name string) error {
	db := s.in.Storage.Database(name)
	if db == nil {
		return sqlerr.New(911, name)
	}
	if db.Props().Offline {
		return sqlerr.New(942, name)
	}
	if !s.mayUse(db) {
		return sqlerr.New(916, s.login, db.Name())
	}
	s.setDB(db)
	return nil
}

// setDB changes the database in whose context statements run.
func (s *Session) setDB(db *storage.Database) {
	s.db = db
	s.seenDB.Store(db)
	s.env.DBCollation = db.Collation
}

// Options is the session's SET state.
func (s *Session) Options() *Options { return &s.opt }

// NestLevel is @@NESTLEVEL: 0 in a batch, 1 in a procedure that it called, and so on.
func (s *Session) NestLevel() int { return s.nest }

// RowsExamined is how many rows the last statement read from tables and indexes.
func (s *Session) RowsExamined() int64 { return s.stats.RowsExamined }

// Kill ends the session's request and makes the next ones fail; the server closes the connection.
func (s *Session) Kill() {
	s.killed.Store(true)
	s.statusMu.Lock()
	cancel := s.cancel
	s.statusMu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Killed reports whether KILL hit the session.
func (s *Session) Killed() bool { return s.killed.Load() }

// Running reports whether a request is being run.
func (s *Session) Running() bool {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	return s.cancel != nil
}

// begin makes the context of one request and remembers how to cancel it.
func (s *Session) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.statusMu.Lock()
	s.cancel = cancel
	s.noteStatus()
	s.statusMu.Unlock()
	return ctx, func() {
		s.statusMu.Lock()
		s.cancel = nil
		s.statusMu.Unlock()
		cancel()
	}
}

// sameName compares two identifiers of the server (databases, logins), which ignore case here.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }
