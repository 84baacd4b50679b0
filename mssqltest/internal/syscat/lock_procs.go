package syscat

import (
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// lockProcs registers application locks (Microsoft Learn, "sp_getapplock").
func (r registrar) lockProcs() {
	r.proc("sp_getapplock", `@Resource nvarchar(255) = NULL, @LockMode varchar(32), @LockOwner varchar(32) = Transaction, @LockTimeout int = NULL,
		@DbPrincipal sysname = public`, getAppLock)
	r.proc("sp_releaseapplock", `@Resource nvarchar(255) = NULL, @LockOwner varchar(32) = Transaction, @DbPrincipal sysname = public`, releaseAppLock)
	r.scalar("APPLOCK_MODE", 3, 3, sysrow.TypeNamed("nvarchar(32)"), appLockMode, sysnameType, nvarcharType, nvarcharType)
	r.scalar("APPLOCK_TEST", 4, 4, smallIntType, appLockTest, sysnameType, nvarcharType, nvarcharType, nvarcharType)
}

// lockOwner is who owns a lock: the session or its transaction, without which there is no owner.
func lockOwner(c *exec.Context, owner string) (storage.LockOwner, bool) {
	switch strings.ToLower(strings.TrimSpace(owner)) {
	case "session":
		return c.Session.Owner(), true
	case "transaction":
		if c.Tx != nil && c.Session.TranCount() > 0 {
			return c.Tx, true
		}
	}
	return nil, false
}

// errNotHeld is what releasing a lock says that the owner does not have.
func errNotHeld(resource string) error {
	return sqlerr.Newf(1223, 16, "Cannot release the application lock (Database Principal: 'public', Resource: '%s') because it is not currently held.", resource)
}

func getAppLock(c *exec.Context, a sysrow.Args) (int32, error) {
	owner, ok := lockOwner(c, a.Str(2))
	if !ok || a.Str(0) == "" {
		return storage.AppLockInvalid, nil
	}
	timeout := c.Session.Options().LockTimeout
	if !a.Null(3) {
		if timeout = time.Duration(a.Int(3, 0)) * time.Millisecond; timeout < 0 {
			timeout = -1
		}
	}
	result, err := c.Instance().Storage.AppLock(c.Context(), owner, c.DB, a.Str(0), strings.TrimSpace(a.Str(1)), timeout)
	return int32(result), err
}

func releaseAppLock(c *exec.Context, a sysrow.Args) (int32, error) {
	owner, ok := lockOwner(c, a.Str(1))
	if !ok || a.Str(0) == "" {
		return storage.AppLockInvalid, nil
	}
	if n := c.Instance().Storage.ReleaseAppLock(owner, c.DB, a.Str(0)); n != 0 {
		return int32(n), errNotHeld(a.Str(0))
	}
	return 0, nil
}

func appLockMode(s *source, a []value.Value) any {
	owner, ok := lockOwner(s.c, text(a[2]))
	if !ok {
		return nil
	}
	return s.c.Instance().Storage.AppLockMode(owner, s.db, text(a[1]))
}

// appLockTest reports whether a lock could be had at once.
func appLockTest(s *source, a []value.Value) any {
	st := s.c.Instance().Storage
	probe := st.NewOwner(s.c.Session.SPID())
	defer st.ReleaseOwner(probe)
	result, err := st.AppLock(s.c.Context(), probe, s.db, text(a[1]), text(a[2]), 0)
	if err != nil || result == storage.AppLockInvalid {
		return nil
	}
	return result >= 0
}
