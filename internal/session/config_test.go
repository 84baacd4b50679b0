package session

import (
	"crypto/tls"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

func TestEncryptionIsOnAndVerifiedUnlessSaidOtherwise(t *testing.T) {
	for _, tt := range []struct {
		name, dsn  string
		encryption msdsn.Encryption
		insecure   bool
	}{
		{"url without", "sqlserver://u:p@h:1433?database=d", msdsn.EncryptionRequired, false},
		{"url without query", "sqlserver://u:p@h", msdsn.EncryptionRequired, false},
		{"ado without", "server=h;user id=u;password=p;database=d", msdsn.EncryptionRequired, false},
		{"ado with a trailing semicolon", "server=h;user id=u;password=p;", msdsn.EncryptionRequired, false},
		{"odbc without", "odbc:server=h;user id=u;password={p;=}}q}", msdsn.EncryptionRequired, false},
		{"trust said", "sqlserver://u:p@h?TrustServerCertificate=true", msdsn.EncryptionRequired, true},
		{"disable said", "sqlserver://u:p@h?encrypt=disable", msdsn.EncryptionDisabled, false},
		{"false said", "server=h;encrypt=false", msdsn.EncryptionOff, false},
		{"key in capitals", "sqlserver://u:p@h?Encrypt=disable", msdsn.EncryptionDisabled, false},
		{"strict said", "sqlserver://u:p@h?encrypt=strict", msdsn.EncryptionStrict, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Config{ConnectionString: tt.dsn}.plan()
			if err != nil {
				t.Fatalf("plan(%s): %v", tt.dsn, err)
			}
			if p.parsed.Encryption != tt.encryption {
				t.Errorf("plan(%s): encryption %d, want %d", tt.dsn, p.parsed.Encryption, tt.encryption)
			}
			if tlsConfig := p.parsed.TLSConfig; tt.encryption != msdsn.EncryptionDisabled && tt.encryption != msdsn.EncryptionOff {
				if tlsConfig == nil || tlsConfig.InsecureSkipVerify != tt.insecure {
					t.Errorf("plan(%s): tls %+v, want InsecureSkipVerify %v", tt.dsn, tlsConfig, tt.insecure)
				}
			}
		})
	}
}

func TestConfigDefaultsKeepWhatIsGiven(t *testing.T) {
	p, err := Config{ConnectionString: `server=h;password="a;b";user id=u`, AppName: "my app;x"}.plan()
	if err != nil {
		t.Fatal(err)
	}
	if p.parsed.Password != "a;b" || p.parsed.AppName != "my app;x" || p.parsed.User != "u" {
		t.Errorf("got password %q, app name %q, user %q", p.parsed.Password, p.parsed.AppName, p.parsed.User)
	}
	p, err = Config{ConnectionString: "sqlserver://u:p%23@h?app+name=theirs#x", AppName: "ours"}.plan()
	if err != nil {
		t.Fatal(err)
	}
	if p.parsed.AppName != "theirs" || p.parsed.Password != "p#" || p.parsed.Encryption != msdsn.EncryptionRequired {
		t.Errorf("got app name %q, password %q, encryption %d", p.parsed.AppName, p.parsed.Password, p.parsed.Encryption)
	}
}

func TestConfigRefuses(t *testing.T) {
	const secret = "Gh#:/7x"
	for _, tt := range []struct{ name, dsn, want string }{
		{"empty", "  ", "is empty"},
		{"no server", "user id=u;password=" + secret, "names no server"},
		{"url with a raw password", "sqlserver://u:" + secret + "@h", "percent-encoded"},
		{"odbc with a raw password", "odbc:server=h;pwd={" + secret + "}x", "braces"},
		{"open quote", `server=h;password="` + secret, "not closed"},
		{"a key twice", "sqlserver://h?database=a&database=b", "more than once"},
		{"bad encrypt", "sqlserver://h?encrypt=perhaps", "perhaps"},
		{"fedauth", "sqlserver://h?fedauth=ActiveDirectoryDefault", "azuread"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Config{ConnectionString: tt.dsn}.Validate()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Validate(%s): %v, want something with %q", tt.dsn, err, tt.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "Gh") {
				t.Errorf("Validate: the error shows the password: %v", err)
			}
		})
	}
}

func TestFedAuthGoesToTheRegisteredOpener(t *testing.T) {
	defer func() { OpenFedAuth = nil }()
	var got string
	OpenFedAuth = func(dsn string) (*mssql.Connector, error) {
		got = dsn
		return mssql.NewConnector(dsn)
	}
	cfg := Config{ConnectionString: "sqlserver://h?fedauth=ActiveDirectoryDefault"}
	p, err := cfg.plan()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.connector(cfg); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "encrypt=true") {
		t.Errorf("the opener got %q, which does not encrypt", got)
	}
	cfg.TLSConfig = &tls.Config{}
	if err := cfg.Validate(); err == nil {
		t.Error("fedauth together with a tls block was accepted")
	}
}

func TestRedactedErrorsStillUnwrap(t *testing.T) {
	err := show(mssql.Error{Number: 1205, Message: "password hunter2 was seen"}, []string{"hunter2"})
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("not redacted: %v", err)
	}
	if !HasNumber(err, 1205) {
		t.Errorf("the server's error is lost: %#v", err)
	}
}

func TestErrorsShowTheirNumber(t *testing.T) {
	for _, tt := range []struct{ err, want string }{
		{"You were deadlocked.", "mssql: You were deadlocked. (error 1205)"},
		{"The error returned was 1205: you were deadlocked.", "mssql: The error returned was 1205: you were deadlocked."},
	} {
		e := mssql.Error{Number: 1205, Message: tt.err}
		want := tt.want
		if own := e.Error(); strings.HasSuffix(own, " (1205)") { // drivers from 1.11 on say it themselves
			want = own
		}
		if got := show(e, nil).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
