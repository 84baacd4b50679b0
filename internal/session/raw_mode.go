package session

import (
	"fmt"
	"os"
)

// RawMode says whether requests speak TDS themselves over the driver's connection,
// which is many times faster, or go through the driver.
type RawMode string

// The modes. RawAuto, which is also the zero value, falls back to the driver
// where the connection cannot be taken; RawRequire fails there.
const (
	RawAuto    RawMode = "auto"
	RawOff     RawMode = "off"
	RawRequire RawMode = "require"
)

// RawEnv names the environment variable that says what RawAuto is in this process.
// The tests run both ways by it.
const RawEnv = "MSSQLCDC_RAW_TDS"

// ParseRawMode reads a mode; "" is RawAuto.
func ParseRawMode(s string) (RawMode, error) {
	switch m := RawMode(s); m {
	case "":
		return RawAuto, nil
	case RawAuto, RawOff, RawRequire:
		return m, nil
	}
	return "", fmt.Errorf("parsing raw_tds: %q is none of auto, off and require", s)
}

// inProcess is the mode with what the environment says of RawAuto.
func (m RawMode) inProcess() (RawMode, error) {
	if m != RawAuto {
		return m, nil
	}
	m, err := ParseRawMode(os.Getenv(RawEnv))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", RawEnv, err)
	}
	return m, nil
}
