package collate

import (
	"sort"
	"strings"
	"sync"
)

var (
	registryMu sync.Mutex
	registry   = map[string]*Collation{} // by upper-case name
)

// Lookup returns the collation of that name in any case, and whether there is one.
func Lookup(name string) (*Collation, bool) {
	if len(name) > 128 {
		return nil, false
	}
	key := strings.ToUpper(name)
	registryMu.Lock()
	defer registryMu.Unlock()
	if c, ok := registry[key]; ok {
		return c, true
	}
	c := parse(key)
	if c == nil {
		return nil, false
	}
	// The same collation may be asked for in two spellings of its suffixes; the canonical name decides.
	canonical := strings.ToUpper(c.Name)
	if have, ok := registry[canonical]; ok {
		return have, true
	}
	registry[canonical] = c
	return c, true
}

var defaultCollation = sync.OnceValue(func() *Collation {
	c, _ := Lookup(DefaultName)
	return c
})

// Default returns SQL_Latin1_General_CP1_CI_AS.
func Default() *Collation { return defaultCollation() }

func parse(upper string) *Collation {
	if strings.HasPrefix(upper, "SQL_") {
		return parseSQL(upper)
	}
	return parseWindows(upper)
}

func parseSQL(upper string) *Collation {
	for i := range sqlFamilies {
		f := &sqlFamilies[i]
		rest, ok := cutFold(upper, f.name)
		if !ok {
			continue
		}
		c := &Collation{LCID: f.lcid, CodePage: f.codePage, KanaInsensitive: true, WidthInsensitive: true}
		switch rest {
		case "_BIN":
			c.Name, c.SortID, c.Binary = f.name+"_BIN", f.bin, true
			c.KanaInsensitive, c.WidthInsensitive = false, false
		case "_BIN2":
			continue
		case "_CS_AS":
			c.Name, c.SortID = f.name+"_CS_AS", f.csAS
		case "_CI_AS":
			c.Name, c.SortID, c.CaseInsensitive = f.name+"_CI_AS", f.ciAS, true
		case "_CI_AI":
			c.Name, c.SortID, c.CaseInsensitive, c.AccentInsensitive = f.name+"_CI_AI", f.ciAI, true, true
		default:
			continue
		}
		if c.SortID == 0 {
			return nil
		}
		return finish(c, 0, f.tailor)
	}
	return nil
}

func parseWindows(upper string) *Collation {
	for i := range families {
		f := &families[i]
		rest, ok := cutFold(upper, f.name)
		if !ok {
			continue
		}
		if c := parseSuffix(f, strings.Split(strings.TrimPrefix(rest, "_"), "_")); c != nil {
			return c
		}
	}
	return nil
}

// parseSuffix reads version, sensitivities and flags: [90|100|140|160] then BIN, BIN2 [UTF8] or CI|CS, AI|AS, [KS] [WS] [VSS] [SC] [UTF8].
func parseSuffix(f *family, parts []string) *Collation {
	c := &Collation{LCID: f.lcid, CodePage: f.codePage, Name: f.name}
	next := func(words ...string) string {
		for _, w := range words {
			if len(parts) > 0 && parts[0] == w {
				parts = parts[1:]
				c.Name += "_" + w
				return w
			}
		}
		return ""
	}
	version := uint8(0)
	switch next("80", "90", "100", "140", "160") {
	case "80":
		return nil // never spelled out
	case "90":
		version = 1
	case "100":
		version = 2
	case "140":
		version = 3
	case "160":
		version = 4
	}
	switch next("BIN", "BIN2") {
	case "BIN":
		c.Binary = true
		return finishIfDone(c, parts, version, f.tailor)
	case "BIN2":
		c.Binary, c.Binary2 = true, true
		if version >= 2 {
			c.UTF8 = next("UTF8") != ""
		}
		return finishIfDone(c, parts, version, f.tailor)
	}
	cs, as := next("CI", "CS"), next("AI", "AS")
	if cs == "" || as == "" {
		return nil
	}
	c.CaseInsensitive, c.AccentInsensitive = cs == "CI", as == "AI"
	c.KanaInsensitive, c.WidthInsensitive = next("KS") == "", next("WS") == ""
	if version >= 3 {
		next("VSS")
	}
	if version >= 1 {
		c.SupplementaryChars = next("SC") != "" || version >= 3
		c.UTF8 = next("UTF8") != ""
	}
	return finishIfDone(c, parts, version, f.tailor)
}

func finishIfDone(c *Collation, rest []string, version uint8, tailor string) *Collation {
	if len(rest) > 0 {
		return nil
	}
	return finish(c, version, tailor)
}

// finish derives code page, wire flags and weights.
func finish(c *Collation, version uint8, tailor string) *Collation {
	if c.UTF8 {
		c.CodePage = 65001
		c.SupplementaryChars = c.SupplementaryChars || !c.Binary
	}
	c.Flags = wireFlags(c, version)
	c.impl = &impl{version: version, coder: coderOf(c.CodePage)}
	if !c.Binary {
		c.impl.word = tableOf(c, tailor, false)
		if c.SortID != 0 {
			c.impl.sql = tableOf(c, tailor, true)
		}
	}
	return c
}

// cutFold cuts prefix, compared without case, off the front of the upper-case string s; what follows must begin with "_".
func cutFold(s, prefix string) (string, bool) {
	if len(s) <= len(prefix) || s[len(prefix)] != '_' || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// Names returns the usual collation names in order, for sys.fn_helpcollations.
func Names() []string {
	var names []string
	for _, f := range sqlFamilies {
		for suffix, id := range map[string]uint8{"_BIN": f.bin, "_CS_AS": f.csAS, "_CI_AS": f.ciAS, "_CI_AI": f.ciAI} {
			if id != 0 {
				names = append(names, f.name+suffix)
			}
		}
	}
	for _, f := range families {
		for _, version := range []string{"", "_100"} {
			for _, s := range []string{"_BIN", "_BIN2", "_CI_AI", "_CI_AS", "_CS_AI", "_CS_AS", "_CI_AS_KS", "_CI_AS_WS", "_CI_AS_KS_WS", "_CS_AS_KS_WS"} {
				names = append(names, f.name+version+s)
			}
		}
		for _, s := range []string{"_BIN2_UTF8", "_CI_AI_SC", "_CI_AS_SC", "_CS_AS_SC", "_CI_AI_SC_UTF8", "_CI_AS_SC_UTF8", "_CS_AS_SC_UTF8"} {
			names = append(names, f.name+"_100"+s)
		}
	}
	sort.Strings(names)
	return names
}
