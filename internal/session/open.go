package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

// Open connects, logs in and sets the session up. ctx bounds all of it, the
// dial, the TLS handshake and the login included, and nothing afterwards.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	p, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	connector, err := p.connector(cfg)
	if err != nil {
		return nil, err
	}
	timeout := cfg.ConnectTimeout
	if timeout <= 0 {
		timeout = defaultConnectTimeout
		if p.parsed.ConnTimeout > 0 {
			timeout = p.parsed.ConnTimeout
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	dialer := newDialer(cfg.Dial, p.parsed.KeepAlive)
	connector.Dialer = dialer
	if cfg.Dial != nil {
		connector.Dialer = hostDialer{dialer}
	}
	mode, err := ParseRawMode(string(cfg.RawTDS))
	if err == nil {
		mode, err = mode.inProcess()
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, dialer.closeAll)
	conn, err := login(ctx, connector, dialer, initSQL(cfg))
	if err == nil {
		conn.secrets, conn.rawMode, conn.server, conn.taken = p.secrets, mode, serverName(p), cfg.Taken
		conn.encrypted = p.parsed.Encryption == msdsn.EncryptionRequired || p.parsed.Encryption == msdsn.EncryptionStrict
		if mode == RawRequire {
			if err = conn.take(ctx); err != nil {
				err = fmt.Errorf("taking the connection over, which raw_tds: require asks for: %w", err)
			}
		}
	}
	// When the bound has passed, the socket is already closed, whatever the
	// driver says.
	if !stop() || err != nil {
		dialer.closeAll()
		if ctxErr := context.Cause(ctx); ctxErr != nil {
			if err == nil {
				err = ctxErr
			} else if !errors.Is(err, ctxErr) {
				err = fmt.Errorf("%w (%w)", ctxErr, err)
			}
		}
		return nil, fmt.Errorf("connecting to %s: %w", serverName(p), show(err, p.secrets))
	}
	return conn, nil
}

// login connects and runs the session's first batch. The driver would hide that
// batch's error; it resets the session with the first request, which this is.
func login(ctx context.Context, connector *mssql.Connector, dialer *watchedDialer, text string) (*Conn, error) {
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*mssql.Conn)
	if !ok {
		return nil, fmt.Errorf("the driver returned a %T", raw)
	}
	// A batch, not sp_executesql: what a procedure sets ends with it.
	stmt, err := conn.Prepare(text)
	if err != nil {
		return nil, err
	}
	e, ok := stmt.(driver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", stmt)
	}
	if _, err := e.ExecContext(ctx, nil); err != nil {
		return nil, fmt.Errorf("setting the session up: %w", err)
	}
	return &Conn{driver: conn, dialer: dialer}, nil
}

func serverName(p *plan) string {
	name := p.parsed.Host
	if p.parsed.Instance != "" {
		name += `\` + p.parsed.Instance
	}
	if p.parsed.Port != 0 {
		name += "," + strconv.FormatUint(p.parsed.Port, 10)
	}
	return name
}

// initSQL is the session's first batch.
func initSQL(cfg Config) string {
	timeout := cfg.LockTimeout
	if timeout <= 0 {
		timeout = defaultLockTimeout
	}
	var b strings.Builder
	b.WriteString(sqlInit)
	b.WriteString(strconv.FormatInt(timeout.Milliseconds(), 10))
	b.WriteString(";")
	for _, s := range cfg.Init {
		b.WriteString("\n")
		b.WriteString(s)
		if !strings.HasSuffix(strings.TrimSpace(s), ";") {
			b.WriteString(";")
		}
	}
	return b.String()
}
