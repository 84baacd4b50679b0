package syscat

import "time"

// windowsZones names the time zones of a server as Windows does, which is what CURRENT_TIMEZONE_ID() gives; a zone that is
// not here keeps its own name.
var windowsZones = map[string]string{
	"UTC": "UTC", "Etc/UTC": "UTC", "Local": "UTC",
	"Pacific/Honolulu": "Hawaiian Standard Time", "America/Anchorage": "Alaskan Standard Time", "America/Los_Angeles": "Pacific Standard Time",
	"America/Phoenix": "US Mountain Standard Time", "America/Denver": "Mountain Standard Time", "America/Chicago": "Central Standard Time",
	"America/New_York": "Eastern Standard Time", "America/Halifax": "Atlantic Standard Time", "America/St_Johns": "Newfoundland Standard Time",
	"America/Sao_Paulo": "E. South America Standard Time", "Europe/London": "GMT Standard Time", "Atlantic/Reykjavik": "Greenwich Standard Time",
	"Europe/Berlin": "W. Europe Standard Time", "Europe/Paris": "Romance Standard Time", "Europe/Warsaw": "Central European Standard Time",
	"Europe/Budapest": "Central Europe Standard Time", "Europe/Kiev": "FLE Standard Time", "Europe/Kyiv": "FLE Standard Time",
	"Europe/Bucharest": "GTB Standard Time", "Europe/Istanbul": "Turkey Standard Time", "Europe/Moscow": "Russian Standard Time",
	"Africa/Johannesburg": "South Africa Standard Time", "Africa/Cairo": "Egypt Standard Time", "Asia/Jerusalem": "Israel Standard Time",
	"Asia/Dubai": "Arabian Standard Time", "Asia/Tehran": "Iran Standard Time", "Asia/Karachi": "Pakistan Standard Time",
	"Asia/Kolkata": "India Standard Time", "Asia/Calcutta": "India Standard Time", "Asia/Katmandu": "Nepal Standard Time",
	"Asia/Bangkok": "SE Asia Standard Time", "Asia/Shanghai": "China Standard Time", "Asia/Singapore": "Singapore Standard Time",
	"Asia/Tokyo": "Tokyo Standard Time", "Asia/Seoul": "Korea Standard Time", "Australia/Perth": "W. Australia Standard Time",
	"Australia/Adelaide": "Cen. Australia Standard Time", "Australia/Brisbane": "E. Australia Standard Time",
	"Australia/Sydney": "AUS Eastern Standard Time", "Pacific/Auckland": "New Zealand Standard Time",
}

// zoneID is CURRENT_TIMEZONE_ID().
func zoneID(loc *time.Location) string {
	if name, ok := windowsZones[loc.String()]; ok {
		return name
	}
	return loc.String()
}

// zoneName is CURRENT_TIMEZONE(): the offset that holds without daylight saving, and the name.
func zoneName(loc *time.Location) string {
	january := time.Date(time.Now().Year(), 1, 1, 0, 0, 0, 0, loc)
	july := time.Date(time.Now().Year(), 7, 1, 0, 0, 0, 0, loc)
	standard := january
	if january.IsDST() {
		standard = july
	}
	return "(UTC" + standard.Format("-07:00") + ") " + zoneID(loc)
}
