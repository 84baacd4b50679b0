package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := NewTable("scenario", "ns/row", "ratio")
	table.Add("narrow", 12.345, 0.4)
	table.Add("a wider one", 1234.5, "")
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "scenario     ns/row  ratio\nnarrow         12.3   0.40\na wider one    1234\n"
	if b.String() != want {
		t.Errorf("got\n%q, want\n%q", b.String(), want)
	}
}

// elements parses a plot and counts its elements.
func elements(t *testing.T, svg string) map[string]int {
	t.Helper()
	out := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if s, ok := tok.(xml.StartElement); ok {
			out[s.Name.Local]++
		}
	}
}

func TestPlotsAreSVG(t *testing.T) {
	if strings.Contains(Bars("t", "u", nil, nil), "NaN") || strings.Contains(Lines("t", "x", "y", nil), "NaN") {
		t.Error("a plot of nothing has NaN in it")
	}
	bars := Bars("a < b", "ns & more", []string{"one", "two"}, []Series{{Name: "ours", Y: []float64{1, 20}}, {Name: "theirs", Y: []float64{1000, math.NaN()}}})
	if n := elements(t, bars)["rect"]; n != 1+2+3 { // ground, legend, bars
		t.Errorf("%d rectangles in\n%s", n, bars)
	}
	for _, values := range [][]float64{{1, 2, 3}, {5}, {0, 0}, {-1, 1}, {3, math.NaN(), 4}, {}} {
		x := make([]float64, len(values))
		for i := range x {
			x[i] = float64(i)
		}
		svg := Lines("t", "s", "rows/s", []Series{{Name: "a", X: x, Y: values}})
		if n := elements(t, svg)["path"]; n != 1 || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%v gives\n%s", values, svg)
		}
	}
}

func TestARecordBeginsWithWhatItIsOf(t *testing.T) {
	dir := t.TempDir()
	var screen strings.Builder
	r, err := Create(&screen, dir, "write")
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable("a")
	table.Add("b")
	if err := errors.Join(r.Table(table), r.Plot("cpu", "<svg/>"), r.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-write*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %q, %v", files, err)
	}
	text, err := os.ReadFile(strings.Replace(files[0], "-cpu.svg", ".txt", 1))
	if err != nil || string(text) != screen.String() {
		t.Fatalf("file %q, screen %q, %v", text, screen.String(), err)
	}
	for _, want := range []string{"write, 20", "\ncommit ", " processors", "\ngo1.", "\ncommand: ", "\na\nb\n", "-write-cpu.svg"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if r, err := Create(io.Discard, "", "write"); err != nil || r.Plot("cpu", "") != nil || r.Close() != nil {
		t.Error("a record for the screen alone")
	}
	if _, err := Create(io.Discard, filepath.Join(dir, "no"), "write"); err == nil {
		t.Error("a record in no folder")
	}
}
