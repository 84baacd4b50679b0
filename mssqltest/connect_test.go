package mssqltest_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

func TestEncryption(t *testing.T) {
	for _, tc := range []struct {
		server, client string
		works          bool
	}{
		{"off", "disable", true}, {"off", "true", false},
		{"auto", "disable", true}, {"auto", "false", true}, {"auto", "true", true}, {"auto", "strict", true},
		{"required", "disable", false}, {"required", "false", true}, {"required", "true", true}, {"required", "strict", true},
	} {
		t.Run(tc.server+" and "+tc.client, func(t *testing.T) {
			db := openTCP(t, mssqltest.Config{Encryption: tc.server}, "encrypt="+tc.client, "dial timeout=5")
			var got string
			err := db.QueryRowContext(within(t), "SELECT N'naïve'").Scan(&got)
			if (err == nil) != tc.works {
				t.Fatalf("login: %v, want success %v", err, tc.works)
			}
			if tc.works && got != "naïve" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The certificate that clients get is signed by the server's authority and by no other.
func TestCertificateIsVerified(t *testing.T) {
	other, err := mssqltest.New(mssqltest.Config{Encryption: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, other.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	db := openTCP(t, mssqltest.Config{Encryption: "auto"}, "certificate="+ca)
	if err := db.PingContext(within(t)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("login past a foreign authority: %v", err)
	}
}

func TestLoginRefused(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	wantError(t, open(t, s, strings.Replace(s.ConnString(), "Passw0rd", "Wr0ng", 1)).PingContext(within(t)), 18456)
	err := open(t, s, s.ConnString("database=nowhere")).PingContext(within(t))
	var me mssql.Error
	if !asError(err, &me) || !hasNumber(me, 4060) {
		t.Errorf("login to an unknown database: %v, want 4060", err)
	}
}

func hasNumber(e mssql.Error, n int32) bool {
	if e.Number == n {
		return true
	}
	for _, x := range e.All {
		if x.Number == n {
			return true
		}
	}
	return false
}

func TestPacketSizes(t *testing.T) {
	for _, size := range []int{512, 4096, 32767} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := mssqltest.Start(t, mssqltest.Config{})
			c := one(t, open(t, s, s.ConnString(fmt.Sprintf("packet size=%d", size))))
			for _, n := range []int{1, size - 60, size, 3 * size, 100_000} {
				want := strings.Repeat("x", n)
				if got := scalar[string](t, c, "SELECT @p1", want); got != want {
					t.Errorf("%d characters came back as %d", n, len(got))
				}
			}
		})
	}
}

// A whole session in virtual time: nothing may block in a way that the bubble does not see, and everything must end.
func TestInsideSynctest(t *testing.T) {
	for _, encryption := range []string{"off", "auto"} {
		t.Run(encryption, func(t *testing.T) {
			s, err := mssqltest.New(mssqltest.Config{Encryption: encryption}) // keys are made outside the bubble
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			synctest.Test(t, func(t *testing.T) {
				if err := s.ListenMemory(); err != nil {
					t.Fatal(err)
				}
				connector, err := mssql.NewConnector(s.ConnString())
				if err != nil {
					t.Fatal(err)
				}
				connector.Dialer = s
				db := sql.OpenDB(connector)
				start := time.Now()
				if _, err := db.ExecContext(t.Context(), "WAITFOR DELAY '00:10:00'"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != 10*time.Minute {
					t.Errorf("ten minutes took %v", took)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				s.Close()
			})
		})
	}
}
