package session

// sqlInit is what every session starts with. A reader is the one to lose a
// deadlock, waits for a lock for a bounded time (the number is appended), and
// leaves nothing open behind an error.
const sqlInit = "SET XACT_ABORT ON; SET DEADLOCK_PRIORITY LOW; SET TEXTSIZE 2147483647; SET LOCK_TIMEOUT "
