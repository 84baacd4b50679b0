package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

const (
	defaultAppName        = "mssqlcdc"
	defaultConnectTimeout = 30 * time.Second
	defaultLockTimeout    = 10 * time.Second
)

// Config says where to connect and how. Only ConnectionString is required.
type Config struct {
	// ConnectionString is a go-mssqldb URL, ADO or ODBC string. When it does not
	// say encrypt, the connection is encrypted and the certificate is verified.
	ConnectionString string
	// AppName is the application name for a connection string that has none.
	AppName string
	// TLSConfig replaces what the connection string says about certificates.
	TLSConfig *tls.Config
	// Dial replaces the network. It is given host names unresolved.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ConnectTimeout bounds Open as a whole; zero means 30 seconds.
	ConnectTimeout time.Duration
	// LockTimeout is how long a statement waits for a lock; zero means 10 seconds.
	LockTimeout time.Duration
	// Init are statements that run after the session's own settings.
	Init []string
	// RawTDS says how requests are made; "" is RawAuto.
	RawTDS RawMode
	// Taken, if not nil, is told once per connection that it was taken, or why not
	// (ErrRawOff where that is as configured), by the goroutine that uses it.
	Taken func(err error)
}

// OpenFedAuth makes a connector for a connection string with fedauth. It is nil
// unless the program includes the Entra ID driver.
var OpenFedAuth func(connectionString string) (*mssql.Connector, error)

// Validate parses the connection string and reports what is wrong with it.
func (c Config) Validate() error {
	_, err := c.plan()
	return err
}

// Database is the database that the connection string names, or "".
func (c Config) Database() string {
	p, err := c.plan()
	if err != nil {
		return ""
	}
	return p.parsed.Database
}

// Location is the time zone that the connection string names with "timezone",
// or nil. It says how the server's clock is to be read where the server cannot.
func (c Config) Location() *time.Location {
	p, err := c.plan()
	if err != nil || p.parsed.Parameters[msdsn.Timezone] == "" {
		return nil
	}
	return p.parsed.Encoding.Timezone
}

// plan is a validated Config.
type plan struct {
	text    string       // the connection string with our defaults added
	parsed  msdsn.Config // the same, parsed
	fedauth string
	secrets []string
}

func (c Config) plan() (*plan, error) {
	if strings.TrimSpace(c.ConnectionString) == "" {
		return nil, errors.New("parsing connection_string: it is empty")
	}
	p := &plan{text: c.ConnectionString}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if err := p.addDefault(msdsn.Encrypt, "true"); err != nil {
		return nil, err
	}
	app := c.AppName
	if app == "" {
		app = defaultAppName
	}
	if err := p.addDefault(msdsn.AppName, app); err != nil {
		return nil, err
	}
	p.fedauth = p.parsed.Parameters["fedauth"]
	switch {
	case p.fedauth != "" && OpenFedAuth == nil:
		return nil, fmt.Errorf("parsing connection_string: fedauth=%s needs a program built with the Entra ID driver (build tag azuread), and this one is not", p.fedauth)
	case p.fedauth != "" && c.TLSConfig != nil:
		return nil, errors.New("parsing connection_string: fedauth cannot be combined with a tls block; name the certificate in the connection string")
	case c.TLSConfig != nil && p.parsed.Encryption == msdsn.EncryptionDisabled:
		return nil, errors.New("parsing connection_string: encrypt=disable contradicts the tls block")
	case p.parsed.Parameters[msdsn.Server] == "":
		return nil, errors.New("parsing connection_string: it names no server")
	}
	return p, nil
}

// parse reads p.text. The parser's own errors may quote pieces of a password
// with a special character in it, so they are not passed on as they are.
func (p *plan) parse() error {
	parsed, err := msdsn.Parse(p.text)
	p.parsed = parsed
	p.secrets = secretsOf(parsed)
	if err == nil {
		return nil
	}
	if isURL(p.text) {
		u, urlErr := url.Parse(p.text)
		if urlErr != nil {
			return errors.New("parsing connection_string: the URL is malformed; special characters in the user name and password must be percent-encoded")
		}
		if password, ok := u.User.Password(); ok {
			p.secrets = append(p.secrets, password)
		}
	}
	if strings.HasPrefix(p.text, "odbc:") && len(parsed.Parameters) == 0 {
		return errors.New("parsing connection_string: the ODBC string is malformed; a value with ; or } must be in {braces}")
	}
	return fmt.Errorf("parsing connection_string: %s", redact(err.Error(), p.secrets))
}

// addDefault adds key=value to the connection string when it has no such key.
func (p *plan) addDefault(key, value string) error {
	if _, given := p.parsed.Parameters[key]; given {
		return nil
	}
	if isURL(p.text) {
		base, fragment, hash := strings.Cut(p.text, "#")
		sep := "?"
		if strings.Contains(base, "?") {
			sep = "&"
		}
		p.text = base + sep + url.QueryEscape(key) + "=" + url.QueryEscape(value)
		if hash {
			p.text += "#" + fragment
		}
	} else {
		p.text += ";" + key + "=" + adoValue(p.text, value)
	}
	if err := p.parse(); err != nil {
		return err
	}
	if p.parsed.Parameters[key] != value {
		return errors.New("parsing connection_string: a quoted or braced value is not closed")
	}
	return nil
}

// adoValue quotes a value in the way of the connection string's own form.
func adoValue(text, value string) string {
	switch {
	case !strings.ContainsAny(value, `;{}"' =`):
		return value
	case strings.HasPrefix(text, "odbc:"):
		return "{" + strings.ReplaceAll(value, "}", "}}") + "}"
	default:
		return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
}

func isURL(text string) bool { return strings.HasPrefix(text, "sqlserver://") }

// connector makes the driver's connector of a validated plan.
func (p *plan) connector(c Config) (*mssql.Connector, error) {
	if p.fedauth != "" {
		connector, err := OpenFedAuth(p.text)
		if err != nil {
			return nil, fmt.Errorf("preparing fedauth=%s: %s", p.fedauth, redact(err.Error(), p.secrets))
		}
		return connector, nil
	}
	cfg := p.parsed
	cfg.LogFlags = 0
	cfg.ConnTimeout = 0                 // re-armed at every read, it would end slow queries; Open has its own bound
	cfg.Encoding.Timezone = time.UTC    // wall clocks are read as they are
	cfg.Encoding.GuidConversion = false // wire order is what the row decoder expects
	if c.TLSConfig != nil {
		t := c.TLSConfig.Clone()
		if t.ServerName == "" {
			t.ServerName = cfg.Host
			if name := cfg.Parameters[msdsn.HostNameInCertificate]; name != "" {
				t.ServerName = name
			}
		}
		cfg.TLSConfig = t
	} else if cfg.TLSConfig != nil {
		cfg.TLSConfig = cfg.TLSConfig.Clone()
	}
	return mssql.NewConnectorConfig(cfg), nil
}
