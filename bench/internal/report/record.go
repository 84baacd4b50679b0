package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Record is the account of a run: what is written to it goes to the screen and to a
// file that begins with date, commit, machine, Go version and command.
type Record struct {
	out  io.Writer
	file *os.File
	base string
}

// Create opens the record dir/DATE-name.txt and writes its head. A second record of a
// day takes the place of the first. Without a directory it is for the screen alone.
func Create(out io.Writer, dir, name string) (*Record, error) {
	now := time.Now().UTC()
	r := &Record{out: out}
	if dir != "" {
		r.base = filepath.Join(dir, now.Format("2006-01-02")+"-"+name)
		f, err := os.Create(r.base + ".txt")
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("opening the record of results: %w; run it from the root of the repository, or name a folder that exists", err)
		}
		if err != nil {
			return nil, fmt.Errorf("opening the record of results: %w", err)
		}
		r.file, r.out = f, io.MultiWriter(out, f)
	}
	r.Printf("%s, %s\ncommit %s\n%s\n%s %s/%s\ncommand: %s\n\n", name, now.Format(time.RFC3339), commit(), machine(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, command())
	return r, nil
}

// Printf writes to screen and file.
func (r *Record) Printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// Table writes a table, and an empty line.
func (r *Record) Table(t *Table) error {
	err := t.Print(r.out)
	r.Printf("\n")
	return err
}

// Plot writes a plot beside the record and names it there. Without a directory it does nothing.
func (r *Record) Plot(name, svg string) error {
	if r.file == nil {
		return nil
	}
	path := r.base + "-" + name + ".svg"
	if err := os.WriteFile(path, []byte(svg), 0o644); err != nil {
		return fmt.Errorf("writing a plot: %w", err)
	}
	r.Printf("plot: %s\n", filepath.Base(path))
	return nil
}

// Close ends the record.
func (r *Record) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// command is the command line, with the package's folder for the temporary binary of go run.
func command() string {
	args := append([]string{}, os.Args...)
	if strings.Contains(args[0], "go-build") {
		args[0] = "go run ./bench/" + filepath.Base(args[0])
	}
	for i, a := range args {
		if strings.ContainsAny(a, "'\"$&;|") {
			args[i] = strconv.Quote(a)
		}
	}
	return strings.Join(args, " ")
}

func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	c := strings.TrimSpace(string(head))
	if changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(changed) > 0 {
		c += " and changes that are not committed"
	}
	return c
}

// machine says what a Linux system tells of itself, elsewhere the number of processors.
func machine() string {
	out := fmt.Sprintf("%d processors", runtime.NumCPU())
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if model := field(string(text), "model name"); model != "" {
			out += " (" + model + ")"
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscan(field(string(text), "MemTotal"), &kib); err == nil {
			out += fmt.Sprintf(", %d GiB", (kib+1<<19)>>20)
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		out += ", Linux " + strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, _, ok := strings.Cut(string(text), " "); ok {
			out += ", load " + load + " at the start"
		}
	}
	return out
}

// field finds "name : value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
