//go:build !race

package mssqlcdc

const raceEnabled = false
