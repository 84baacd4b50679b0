//go:build race

package mssqlcdc

// raceEnabled: the race detector multiplies memory, so no bound on it is checked.
const raceEnabled = true
