package main

import (
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest"
)

// options are the command line.
type options struct {
	listen  string
	scripts []string
	caOut   string
	config  mssqltest.Config
}

func parseOptions(args []string) (options, error) {
	o := options{}
	tls, throttle := "auto", ""
	f := flag.NewFlagSet("mssqltest", flag.ContinueOnError)
	f.StringVar(&o.listen, "listen", "127.0.0.1:1433", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&o.config.Password, "password", "Passw0rd!", "password of login sa")
	f.StringVar(&o.config.Database, "database", "testdb", "database to create")
	f.StringVar(&o.config.Collation, "collation", "", "collation of the server and the database")
	f.Func("script", "T-SQL `file` to run before listening, its batches separated by GO; may be given again", func(s string) error {
		o.scripts = append(o.scripts, s)
		return nil
	})
	f.StringVar(&tls, "tls", tls, "auto (each client gets what it asks for), required or off")
	f.StringVar(&throttle, "throttle", "", "most `bytes` a second on each connection: 5MB, 512KB, 1000")
	f.DurationVar(&o.config.CaptureDelay, "capture-delay", 0, "how long after a commit the capture job handles it")
	f.StringVar(&o.caOut, "ca-out", "", "`file` for the certificate of the authority that signed the server's")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	rate, err := parseBytes(throttle)
	if err != nil {
		return o, fmt.Errorf("reading -throttle: %w", err)
	}
	o.config.Throttle, o.config.Encryption = rate, tls
	return o, nil
}

// parseBytes reads "5MB": a number and an optional unit KB, MB or GB (powers of 1024).
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	text, unit := strings.ToUpper(strings.TrimSpace(s)), int64(1)
	for _, u := range []struct {
		suffix string
		size   int64
	}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"B", 1}} {
		if t, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = t, u.size
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || n < 0 || n*float64(unit) > 1<<50 {
		return 0, fmt.Errorf("%q is no number of bytes", s)
	}
	return int64(n * float64(unit)), nil
}

// hint is a connection string for go-mssqldb; the password is left to the reader, who chose it.
func (o options) hint(addr string) string {
	q := url.Values{"database": {o.config.Database}}
	switch {
	case o.config.Encryption == "off":
		q.Set("encrypt", "disable")
	case o.caOut != "":
		q.Set("encrypt", "true")
		q.Set("certificate", o.caOut)
	default:
		q.Set("encrypt", "true")
		q.Set("TrustServerCertificate", "true")
	}
	return fmt.Sprintf("sqlserver://sa:<password>@%s?%s", addr, q.Encode())
}
