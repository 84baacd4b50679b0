package compat

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// steps are what a scenario can do, by verb. doc.go explains them.
var steps map[string]func(r *rig, s step) error

func init() {
	steps = map[string]func(r *rig, s step) error{
		"config":  configStep,
		"login":   func(r *rig, s step) error { r.login = s.rest; return r.db.addLogin(r.ctx, s.rest) },
		"sql":     sqlStep,
		"enable":  enableStep,
		"scan":    func(r *rig, _ step) error { ctx, cancel := r.bounded(); defer cancel(); return r.db.scan(ctx) },
		"cleanup": cleanupStep,
		"start":   startStep,
		"restart": startStep,
		"expect":  expectStep,
		"hold":    func(r *rig, _ step) error { r.hold(); return nil },
		"ack":     ackStep,
		"forget":  func(r *rig, _ step) error { return os.Remove(r.file) },
		"refuse":  func(r *rig, s step) error { return counted(s.rest, r.refuse) },
		"saved":   func(r *rig, _ step) error { r.saved(); return nil },
		"stop":    stopStep,
		"crash":   func(r *rig, _ step) error { r.crash(); return nil },
		"log":     logStep,
		"no":      noLogStep,
		"differ":  differStep,
		"pass":    passStep,
		"control": controlStep,
	}
}

// configStep puts noted values in.
func configStep(r *rig, s step) error {
	r.config = s.block
	for name, value := range r.noted {
		r.config = strings.ReplaceAll(r.config, name, value)
	}
	return nil
}

func ackStep(r *rig, s step) error {
	if s.rest == "newest" {
		return r.ackNewest()
	}
	return counted(s.rest, r.ack)
}

func sqlStep(r *rig, s step) error {
	if number, ok := strings.CutPrefix(s.rest, "error "); ok {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return err
		}
		return r.sqlError(int32(n), s.block)
	}
	return execScript(r.ctx, r.db.admin, s.block)
}

// enableStep reads "T [as I] [columns a,b]".
func enableStep(r *rig, s step) error {
	words := strings.Fields(s.rest)
	if len(words)%2 != 1 {
		return errors.New("want: enable T [as I] [columns a,b]")
	}
	var instance, columns string
	for i := 1; i < len(words); i += 2 {
		switch words[i] {
		case "as":
			instance = words[i+1]
		case "columns":
			columns = words[i+1]
		default:
			return fmt.Errorf("unknown word %q", words[i])
		}
	}
	return execScript(r.ctx, r.db.admin, enableText("dbo", words[0], instance, columns))
}

func cleanupStep(r *rig, s step) error {
	instance, keep := strings.CutSuffix(s.rest, " up to its last")
	low := "sys.fn_cdc_get_max_lsn()"
	if keep {
		low = "(SELECT MAX([__$start_lsn]) FROM cdc.[" + instance + "_CT])"
	}
	return execScript(r.ctx, r.db.admin, "DECLARE @low binary(10) = "+low+"\nEXEC sys.sp_cdc_cleanup_change_table @capture_instance = N'"+instance+"', @low_water_mark = @low, @threshold = 5000")
}

func startStep(r *rig, s step) error {
	if want, ok := strings.CutPrefix(s.rest, "refused "); ok {
		want, err := strconv.Unquote(want)
		if err != nil {
			return err
		}
		err = r.tryStart()
		if err == nil {
			return errors.New("the configuration was accepted")
		}
		if !strings.Contains(err.Error(), want) {
			return fmt.Errorf("refused with %q, want %q", err, want)
		}
		return nil
	}
	return r.tryStart()
}

func expectStep(r *rig, s step) error {
	switch s.rest {
	case "none":
		return r.expectNone()
	case "", "ordered":
		return r.expectLines(s.block, s.rest == "ordered")
	}
	return fmt.Errorf("unknown word %q", s.rest)
}

// counted reads a count, -1 when there is none.
func counted(text string, f func(int) error) error {
	if text == "" {
		return f(-1)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	return f(n)
}

func stopStep(r *rig, s step) error {
	var within time.Duration
	if text, ok := strings.CutPrefix(s.rest, "within "); ok {
		var err error
		if within, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	r.end(false, within)
	return nil
}

func logStep(r *rig, s step) error {
	text, rest, err := quoted(s.rest)
	if err != nil {
		return err
	}
	if err := r.logged(text); err != nil {
		return err
	}
	if rest != "once" {
		return nil
	}
	r.pass(quiet)
	if n := r.p.log.count(text); n != 1 {
		return fmt.Errorf("%d lines have %q:\n%s", n, text, r.p.log)
	}
	return nil
}

func noLogStep(r *rig, s step) error {
	rest, ok := strings.CutPrefix(s.rest, "log ")
	if !ok {
		return errors.New(`want: no log "text"`)
	}
	text, _, err := quoted(rest)
	if err != nil {
		return err
	}
	if n := r.p.log.count(text); n > 0 {
		return fmt.Errorf("%d lines have %q:\n%s", n, text, r.p.log)
	}
	return nil
}

// quoted cuts a quoted text off a line.
func quoted(s string) (text, rest string, err error) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("want a quoted text, got %s", s)
	}
	text, err = strconv.Unquote(q)
	return text, strings.TrimSpace(s[len(q):]), err
}

func differStep(r *rig, s step) error {
	a, b, _ := strings.Cut(s.rest, " ")
	x, okX := r.noted[a]
	y, okY := r.noted[b]
	switch {
	case !okX || !okY:
		return fmt.Errorf("%s and %s were not both noted", a, b)
	case x == y:
		return fmt.Errorf("%s and %s are both %s", a, b, x)
	}
	return nil
}

func passStep(r *rig, s step) error {
	d, err := time.ParseDuration(s.rest)
	if err == nil {
		r.pass(d)
	}
	return err
}
