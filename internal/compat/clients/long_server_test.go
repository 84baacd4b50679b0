package clients

import (
	"crypto/tls"
	"database/sql"
	"encoding/pem"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/microsoft/go-mssqldb"
)

// certificates writes what clients verify the server with, beside the authority's certificate: the server's own, for those that
// compare it, and the authority's in a store of Java.
func certificates(t *testing.T, p *process) {
	t.Helper()
	conn, err := tls.Dial("tcp", "127.0.0.1:"+p.port, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"tds/8.0"}})
	if err != nil {
		t.Fatal(err)
	}
	leaf := conn.ConnectionState().PeerCertificates[0].Raw
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf})
	if err := os.WriteFile(filepath.Join(p.dir, "leaf.pem"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("keytool"); err != nil {
		return // no Java, no clients in it
	}
	if out, err := exec.Command("keytool", "-importcert", "-noprompt", "-alias", "standin", "-file", p.ca, "-keystore", filepath.Join(p.dir, "trust.p12"),
		"-storetype", "PKCS12", "-storepass", "changeit").CombinedOutput(); err != nil {
		t.Fatalf("keytool: %v\n%s", err, out)
	}
}

// dsn is the connection string of go-mssqldb.
func (p *process) dsn() string {
	return (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", password), Host: "127.0.0.1:" + p.port, RawQuery: "database=testdb&encrypt=disable"}).String()
}

// database opens the server's database.
func (p *process) database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlserver", p.dsn())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// execute runs batches, each for itself.
func execute(t *testing.T, p *process, batches ...string) {
	t.Helper()
	db := p.database(t)
	for _, b := range batches {
		if _, err := db.ExecContext(t.Context(), b); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	}
}
