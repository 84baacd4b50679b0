package mssqlcdc

import (
	"net/url"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// bareDSN is a connection string that says nothing of encryption but what params say. The stand-in's certificate is for
// localhost.
func bareDSN(r *cdcRig, params ...string) string {
	u, err := url.Parse(r.dsn())
	if err != nil {
		r.t.Fatal(err)
	}
	q := url.Values{"database": {"testdb"}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// indent writes a PEM as a block of YAML.
func indent(pem []byte, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(string(pem)), "\n", "\n"+by)
}

// The certificate is verified unless something says otherwise, by the connection string or by the tls block.
func TestCDCTLS(t *testing.T) {
	other, err := mssqltest.New(mssqltest.Config{Encryption: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const name = "hostnameincertificate=localhost"
	roots := func(pem []byte) string { return "tls:\n  enabled: true\n  root_cas: |\n    " + indent(pem, "    ") }
	tests := []struct {
		name   string
		server string
		params []string
		fields func(*cdcRig) string
		want   string // of the log; "" = it works
	}{
		{"verified by default", "auto", []string{name}, nil, "is not signed by an authority that this machine trusts"},
		{"certificate in the connection string", "required", []string{name}, func(r *cdcRig) string {
			file, err := r.srv.CAFile()
			if err != nil {
				r.t.Fatal(err)
			}
			return "certificate=" + file
		}, ""},
		{"tls block with the authority", "required", []string{name}, func(r *cdcRig) string { return roots(r.srv.CA()) }, ""},
		{"tls block with another authority", "required", []string{name}, func(*cdcRig) string { return roots(other.CA()) }, "is not signed by an authority that this machine trusts"},
		{"tls block, another name", "required", nil, func(r *cdcRig) string { return roots(r.srv.CA()) }, "hostnameincertificate"},
		{"tls block that is off", "required", []string{name}, func(r *cdcRig) string {
			return strings.Replace(roots(r.srv.CA()), "enabled: true", "enabled: false", 1)
		}, "is not signed by an authority that this machine trusts"},
		{"skip_cert_verify", "required", nil, func(*cdcRig) string { return "tls: {enabled: true, skip_cert_verify: true}" }, ""},
		{"TrustServerCertificate", "required", []string{"TrustServerCertificate=true"}, nil, ""},
		{"no encryption is an error", "off", nil, nil, "the server does not encrypt"},
		{"no encryption, as the connection string says", "off", []string{"encrypt=disable"}, nil, ""},
		{"encryption that the server insists on", "required", []string{"encrypt=disable"}, nil, "hostnameincertificate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{Encryption: tt.server}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY")
				r.sql("INSERT dbo.a VALUES (1)")
				params, fields := tt.params, ""
				if tt.fields != nil {
					if fields = tt.fields(r); strings.HasPrefix(fields, "certificate=") {
						params, fields = append(params, fields), ""
					}
				}
				run := r.start("connection_string: '" + bareDSN(r, params...) + "'\ncheckpoint_file: '" + r.file + "'\n" + fields)
				if tt.want == "" {
					run.one().want(t, "insert", `{"id":1}`)
					return
				}
				run.nothing(cdcQuiet)
				if run.log.count(tt.want) == 0 {
					t.Errorf("the log does not have %q:\n%s", tt.want, run.log)
				}
				if run.log.count("Passw0rd") > 0 {
					t.Errorf("the log has the password:\n%s", run.log)
				}
			})
		})
	}
}

// fedauth is refused in one sentence where the program was built without the driver for it.
func TestCDCFedAuthIsRefused(t *testing.T) {
	if session.OpenFedAuth != nil {
		t.Skip("built with the Entra ID driver")
	}
	conf, err := cdcSpec().ParseYAML("connection_string: 'sqlserver://user:s3cret@host?database=d&fedauth=ActiveDirectoryPassword'\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&cdcParser{conf: conf, mgr: service.MockResources()}).parse()
	if err == nil || !strings.Contains(err.Error(), "azuread") || strings.Contains(err.Error(), "s3cret") || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("got %v, want one sentence that names the build tag", err)
	}
}
