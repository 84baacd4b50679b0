package diagnose

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string // "" = nothing
	}{
		{"nil", nil, ""},
		{"cancelled", context.Canceled, ""},
		{"login failed", mssql.Error{Number: 18456}, "user name and password"},
		{"login failed, behind a database that cannot be opened", mssql.Error{Number: 18456, All: []mssql.Error{{Number: 4060}, {Number: 18456}}}, "database does not exist"},
		{"no database", mssql.Error{Number: 4060}, "database does not exist"},
		{"denied", fmt.Errorf("reading: %w", mssql.Error{Number: 229}), "GRANT SELECT ON SCHEMA::[cdc]"},
		{"misleading arguments", mssql.Error{Number: 313}, "LSN range"},
		{"gone", mssql.Error{Number: 208}, "disabled"},
		{"replica", mssql.Error{Number: 976}, "ApplicationIntent=ReadOnly"},
		{"earlier number of the reply", mssql.Error{Number: 3621, All: []mssql.Error{{Number: 3952}, {Number: 3621}}}, "ALLOW_SNAPSHOT_ISOLATION"},
		{"a number without a sentence", mssql.Error{Number: 8134}, ""},
		{"unknown authority", fmt.Errorf("TLS Handshake failed: %w", x509.UnknownAuthorityError{}), "certificate="},
		{"unknown authority, as text", errors.New("TLS Handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"), "certificate="},
		{"wrong name, as text", errors.New("TLS Handshake failed: tls: failed to verify certificate: x509: certificate is valid for a, not b"), "hostnameincertificate"},
		{"no such host", &net.DNSError{Err: "no such host", Name: "x"}, "name is not known"},
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "nothing listens"},
		{"no answer", fmt.Errorf("connecting: %w", context.DeadlineExceeded), "did not answer"},
		{"anything else", errors.New("x"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Explain(tt.err)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Explain(%v) = %q, want something with %q", tt.err, got, tt.want)
			}
			if strings.HasSuffix(got, ".") {
				t.Errorf("Explain(%v) = %q ends with a full stop", tt.err, got)
			}
		})
	}
}

func TestWrapAddsItsSentenceOnce(t *testing.T) {
	err := Wrap(Wrap(fmt.Errorf("reading: %w", mssql.Error{Number: 229, Message: "denied"})))
	if n := strings.Count(err.Error(), "SCHEMA::[cdc]"); n != 1 {
		t.Errorf("Wrap: %v", err)
	}
	var se mssql.Error
	if !errors.As(err, &se) {
		t.Errorf("Wrap lost the server's error: %v", err)
	}
	if Wrap(nil) != nil {
		t.Error("Wrap(nil) is an error")
	}
}

func TestWorst(t *testing.T) {
	cause := errors.New("cause")
	findings := []Finding{
		{Check: "a", Severity: Warning, Message: "Careful."},
		{Check: "b", Severity: Error, Table: "dbo.t", Message: "Broken.", Remedy: "EXEC x;", Err: cause},
	}
	err := Worst(findings)
	if err == nil || err.Error() != "b: dbo.t: Broken. To mend it: EXEC x;" || !errors.Is(err, cause) {
		t.Errorf("Worst = %v", err)
	}
	if Worst(findings[:1]) != nil {
		t.Error("a warning is an error")
	}
}
