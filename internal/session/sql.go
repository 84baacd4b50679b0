package session

// sqlInit is what every session starts with. A reader is the one to lose a
// deadlock, waits for a lock for a bounded time (the number is appended), and
// leaves nothing open behind an error.
const sqlInit = "SET XACT_ABORT ON; SET DEADLOCK_PRIORITY LOW; SET TEXTSIZE 2147483647; SET LOCK_TIMEOUT "

// sqlSPID and sqlProbe are asked through the driver and past it, to see that both
// speak with the same session and read the same.
const (
	sqlSPID  = "SELECT CAST(@@SPID AS int)"
	sqlProbe = "SELECT CAST(@@SPID AS int), 0x0102, N'é', CAST(7 AS bigint), NULL"
)
