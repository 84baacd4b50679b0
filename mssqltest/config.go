package mssqltest

import (
	"errors"
	"fmt"
	"time"
)

// Config says how a server is set up; its zero value is a clear-text server in memory with an empty database testdb.
type Config struct {
	// Password is that of login sa; "" means "Passw0rd!".
	Password string
	// Database is created at the start; "" means "testdb".
	Database string
	// Collation is that of the server and of Database; "" means SQL_Latin1_General_CP1_CI_AS.
	Collation string
	// Encryption is "off" (clients that insist on it are turned away), "auto" (as the client asks: none, the login only,
	// or everything; also TDS 8.0) or "required"; "" means "off".
	Encryption string
	// Location is the server's time zone, in which GETDATE and lsn_time_mapping speak; nil means UTC.
	Location *time.Location
	// CaptureDelay is how long after a commit the capture job handles it; 0 means at once.
	CaptureDelay time.Duration
	// CaptureStopped leaves the capture job stopped; Control.CaptureScan and Control.CaptureStart are then the only way
	// that changes reach change tables.
	CaptureStopped bool
	// Throttle limits what the server sends on each connection, in bytes a second; 0 means no limit.
	Throttle int64
	// PacketSize is the packet size given to clients that ask for none, and MaxPacketSize the largest that is granted;
	// 0 means 4096 and 32767.
	PacketSize, MaxPacketSize int
}

func (c Config) withDefaults() (Config, error) {
	if c.Password == "" {
		c.Password = "Passw0rd!"
	}
	if c.Database == "" {
		c.Database = "testdb"
	}
	if c.Encryption == "" {
		c.Encryption = "off"
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	if c.PacketSize == 0 {
		c.PacketSize = 4096
	}
	if c.MaxPacketSize == 0 {
		c.MaxPacketSize = 32767
	}
	var errs []error
	switch c.Encryption {
	case "off", "auto", "required":
	default:
		errs = append(errs, fmt.Errorf("encryption %q is none of off, auto, required", c.Encryption))
	}
	if c.CaptureDelay < 0 || c.Throttle < 0 {
		errs = append(errs, errors.New("a negative delay or throttle"))
	}
	if c.PacketSize < 512 || c.PacketSize > 32767 || c.MaxPacketSize < 512 || c.MaxPacketSize > 32767 {
		errs = append(errs, errors.New("a packet size outside 512 to 32767"))
	}
	return c, errors.Join(errs...)
}
