package compat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// reading is the application name of the input's sessions.
const reading = "mssqlcdc mssql_cdc"

// controlStep turns a knob of the stand-in:
//
//	control error N on "text" [times K] [skip K]   statements of the input that have the text fail with error N
//	control cut on "text" [after N bytes]          the connection is cut at such a message, once
//	control delay D on "text"                      such a message is held up, once
//	control cut                                    all connections are cut
//	control refuse logins, control accept logins   of the input
//	control capture stop, control capture start    the capture job
//	control capture error N "message"              the capture job's next scan fails
//	control old change tables                      instances enabled from now on lack __$command_id
//	control cleanup job                            the cleanup job runs once
//	control nothing held                           checks that the input holds no transaction and no lock
func controlStep(r *rig, s step) error {
	if r.db.server == nil {
		return errors.New("a scenario with control lines must be marked: only standin")
	}
	c := r.control()
	words := strings.Fields(s.rest)
	switch {
	case s.rest == "cut":
		c.Cut(func(e mssqltest.Event) bool { return e.App == reading })
		return nil
	case s.rest == "refuse logins":
		r.accept = c.Add(mssqltest.Rule{App: reading, Kind: "login", Cut: true})
		return nil
	case s.rest == "accept logins":
		if r.accept == nil {
			return errors.New("logins are not refused")
		}
		r.accept()
		return nil
	case s.rest == "capture stop":
		return c.CaptureStop(r.db.name)
	case s.rest == "capture start":
		return c.CaptureStart(r.db.name)
	case s.rest == "old change tables":
		return c.OldChangeTables(r.db.name, true)
	case s.rest == "cleanup job":
		return c.CleanupJob(r.db.name)
	case s.rest == "nothing held":
		return r.idle()
	case strings.HasPrefix(s.rest, "capture error "):
		n, message, _ := strings.Cut(strings.TrimPrefix(s.rest, "capture error "), " ")
		number, err := strconv.ParseInt(n, 10, 32)
		if err != nil {
			return err
		}
		text, _, err := quoted(message)
		if err != nil {
			return err
		}
		return c.CaptureError(r.db.name, int32(number), text, 1)
	case len(words) > 2 && (words[0] == "error" || words[0] == "cut" || words[0] == "delay"):
		return ruleStep(r, s.rest)
	}
	return fmt.Errorf("unknown knob %q", s.rest)
}

// ruleStep reads a line with "on".
func ruleStep(r *rig, line string) error {
	head, rest, ok := strings.Cut(line, ` on `)
	if !ok {
		return errors.New(`want: … on "text"`)
	}
	text, rest, err := quoted(rest)
	if err != nil {
		return err
	}
	rule := mssqltest.Rule{Database: r.db.name, Text: text, Times: 1, Match: func(e mssqltest.Event) bool { return strings.HasPrefix(e.App, "mssqlcdc") }}
	verb, value, _ := strings.Cut(head, " ")
	switch verb {
	case "error":
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return err
		}
		rule.Error, rule.Kind = int32(n), "statement"
	case "cut":
		rule.Cut = true
	case "delay":
		if rule.Delay, err = time.ParseDuration(value); err != nil {
			return err
		}
	}
	words := strings.Fields(rest)
	for i := 0; i+1 < len(words); i += 2 {
		n, err := strconv.Atoi(words[i+1])
		if err != nil {
			return err
		}
		switch words[i] {
		case "times":
			rule.Times = n
		case "skip":
			rule.Skip = n
		case "after":
			rule.CutAfter = int64(n)
		default:
			return fmt.Errorf("unknown word %q", words[i])
		}
	}
	r.control().Add(rule)
	return nil
}
