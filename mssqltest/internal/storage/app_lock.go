package storage

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Owner is a session as the lock manager sees it: the owner of session-scoped applocks, and what ties the locks of its
// transactions together.
type Owner struct {
	SPID  int
	locks *lockOwner
}

// NewOwner registers a session; ReleaseOwner ends it.
func (in *Instance) NewOwner(spid int) *Owner {
	o := &Owner{SPID: spid}
	o.locks = in.locks.newOwner(o, nil, 0)
	return o
}

// ReleaseOwner frees the session's applocks.
func (in *Instance) ReleaseOwner(o *Owner) { in.locks.releaseAll(o.locks, nil) }

// LockOwner is what can own an applock: a *Tx or an *Owner.
type LockOwner interface{ lockOwner() *lockOwner }

func (o *Owner) lockOwner() *lockOwner { return o.locks }
func (tx *Tx) lockOwner() *lockOwner   { return tx.owner }

// The results of sp_getapplock.
const (
	AppLockGranted   = 0
	AppLockWaited    = 1
	AppLockTimeout   = -1
	AppLockCancelled = -2
	AppLockDeadlock  = -3
	AppLockInvalid   = -999
)

var appModes = map[string]Mode{"shared": S, "update": U, "exclusive": X, "intentshared": IS, "intentexclusive": IX}

// AppLock takes an application lock and returns what sp_getapplock does; timeout below 0 waits for ever. The error is
// ctx's.
func (in *Instance) AppLock(ctx context.Context, owner LockOwner, db *Database, name, mode string, timeout time.Duration) (int, error) {
	m, ok := appModes[strings.ToLower(mode)]
	if !ok || name == "" {
		return AppLockInvalid, nil
	}
	waited, err := in.locks.acquire(ctx, owner.lockOwner(), appResource(db, name), m, timeout)
	var se *sqlerr.Error
	switch {
	case errors.As(err, &se) && se.Number == 1205:
		return AppLockDeadlock, nil
	case errors.As(err, &se):
		return AppLockTimeout, nil
	case err != nil:
		return AppLockCancelled, err
	case waited:
		return AppLockWaited, nil
	}
	return AppLockGranted, nil
}

// ReleaseAppLock gives one AppLock back: 0, or AppLockInvalid when the owner does not hold it.
func (in *Instance) ReleaseAppLock(owner LockOwner, db *Database, name string) int {
	o := owner.lockOwner()
	res := appResource(db, name)
	if in.locks.modeOf(o, res) == NoMode {
		return AppLockInvalid
	}
	in.locks.release(o, res)
	return 0
}

// AppLockMode is the mode that owner holds, as APPLOCK_MODE names it.
func (in *Instance) AppLockMode(owner LockOwner, db *Database, name string) string {
	switch in.locks.modeOf(owner.lockOwner(), appResource(db, name)) {
	case S:
		return "Shared"
	case U:
		return "Update"
	case X:
		return "Exclusive"
	case IS:
		return "IntentShared"
	case IX:
		return "IntentExclusive"
	case SIX:
		return "SharedIntentExclusive"
	}
	return "NoLock"
}

func appResource(db *Database, name string) resource {
	return resource{kind: resApp, db: db.ID, key: name}
}
