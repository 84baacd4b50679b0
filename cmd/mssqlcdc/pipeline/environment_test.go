package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLookupEnv(t *testing.T) {
	write := func(text string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct {
		name, value, file string
		want              string
		ok                bool
		warned            string
	}{
		{name: "neither"},
		{name: "the variable", value: "v", want: "v", ok: true},
		{name: "a file", file: write("from a file"), want: "from a file", ok: true},
		{name: "a line feed ends the file", file: write("secret\n"), want: "secret", ok: true},
		{name: "a line that Windows ended", file: write("secret\r\n"), want: "secret", ok: true},
		{name: "blanks belong to a secret", file: write(" secret \n\n"), want: " secret \n", ok: true},
		{name: "the variable wins", value: "v", file: write("f"), want: "v", ok: true},
		{name: "no such file", file: missing, warned: missing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const name = "MSSQLCDC_TEST_LOOKUP"
			if tc.value != "" {
				t.Setenv(name, tc.value)
			}
			if tc.file != "" {
				t.Setenv(name+"_FILE", tc.file)
			}
			warned := ""
			got, ok := LookupEnv(name, func(err error) { warned = err.Error() })
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %q, %v, want %q, %v", got, ok, tc.want, tc.ok)
			}
			if !strings.Contains(warned, tc.warned) || tc.warned == "" && warned != "" {
				t.Errorf("warned of %q, want %q", warned, tc.warned)
			}
		})
	}
}
