package storage

// Props are the options of a database that statements set and readers see.
type Props struct {
	SnapshotIsolation     bool // ALLOW_SNAPSHOT_ISOLATION
	ReadCommittedSnapshot bool
	CDCEnabled            bool
	ReadOnly              bool
	Offline               bool
	SingleUser            bool
	Recovery              string // FULL, SIMPLE, BULK_LOGGED
	CompatLevel           int
	OwnerSID              []byte
}
