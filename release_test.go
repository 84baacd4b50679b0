package mssqlcdc

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// .ci/release makes an archive whose checksum is right and whose program says its version; the same commit gives the same archive.
func TestRelease(t *testing.T) {
	if os.Getenv("MSSQLCDC_LONG") == "" {
		t.Skip("it compiles everything anew; set MSSQLCDC_LONG=1")
	}
	for _, program := range []string{"bash", "tar", "gzip", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	const version = "9.8.7-test.1"
	platform := runtime.GOOS + "/" + runtime.GOARCH
	sums := [2]string{}
	dir := ""
	for i := range sums {
		dir = t.TempDir()
		cmd := exec.CommandContext(t.Context(), "bash", ".ci/release", version, platform)
		cmd.Env = append(os.Environ(), "DIST="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 1 {
		t.Errorf("the second build differs:\n%s\n%s", sums[0], sums[1])
	}
	name := "mssqlcdc_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
	unpack := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(dir, name+".tar.gz"), "-C", dir)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, name, "mssqlcdc"), "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("%v, %s", err, out)
	}
	for _, f := range []string{"LICENSE", "README.md", "mssqltest"} {
		if _, err := os.Stat(filepath.Join(dir, name, f)); err != nil {
			t.Error(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "bash", ".ci/release", "one").CombinedOutput(); err == nil {
		t.Errorf("a version that is none was taken: %s", out)
	}
}
