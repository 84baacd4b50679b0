package session

import "fmt"

// RawMode says whether bulk loads speak TDS themselves over the driver's
// connection, which is many times faster, or go through the driver's Bulk.
type RawMode string

// The modes. RawAuto, which is also the zero value, falls back to the driver
// where the connection cannot be taken; RawRequire fails there.
const (
	RawAuto    RawMode = "auto"
	RawOff     RawMode = "off"
	RawRequire RawMode = "require"
)

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
