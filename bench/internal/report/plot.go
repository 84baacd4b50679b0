package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Series is a named row of values: one for each group of [Bars], or the points of
// a line of [Lines]. NaN is a value that there is none of.
type Series struct {
	Name string
	X, Y []float64 // X is for lines
}

// The palette is readable for people who see red and green alike.
var colours = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"}

const (
	plotWidth, plotHeight     = 860, 420
	plotLeft, plotRight       = 80, 20
	plotTop, plotBottom       = 56, 64
	plotInnerW                = plotWidth - plotLeft - plotRight
	plotInnerH                = plotHeight - plotTop - plotBottom
	plotBase                  = plotTop + plotInnerH
	legendStep, legendPerChar = 26, 6.6
)

// Bars plots values in groups, on a logarithmic axis where they lie far apart.
func Bars(title, unit string, groups []string, series []Series) string {
	lo, hi := span(series)
	log := lo > 0 && hi/lo > 50
	a := newAxis(lo, hi, log)
	var b strings.Builder
	a.frame(&b, title, unit, series)
	slot := float64(plotInnerW) / float64(max(len(groups), 1))
	bar := slot * 0.8 / float64(max(len(series), 1))
	for g, name := range groups {
		left := plotLeft + slot*(float64(g)+0.1)
		for s, row := range series {
			if g >= len(row.Y) || math.IsNaN(row.Y[g]) {
				continue
			}
			x, y := left+bar*float64(s), a.y(row.Y[g])
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, bar*0.94, plotBase-y, colours[s%len(colours)])
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" font-size="10" text-anchor="middle">%s</text>`+"\n", x+bar/2, y-3, Number(row.Y[g]))
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", left+slot*0.4, plotBase+18, html.EscapeString(name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// Lines plots series of points.
func Lines(title, xUnit, yUnit string, series []Series) string {
	lo, hi := span(series)
	a := newAxis(lo, hi, false)
	x0, x1 := math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, x := range s.X {
			x0, x1 = min(x0, x), max(x1, x)
		}
	}
	if !(x1 > x0) {
		x0, x1 = min(x0, 0), x0+1
		if math.IsInf(x0, 0) || math.IsInf(x1, 0) {
			x0, x1 = 0, 1
		}
	}
	at := func(x float64) float64 { return plotLeft + (x-x0)/(x1-x0)*plotInnerW }
	var b strings.Builder
	a.frame(&b, title, yUnit, series)
	step := nice((x1 - x0) / 8)
	for x := math.Ceil(x0/step) * step; x <= x1; x += step {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at(x), plotBase+18, tick(x))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+plotInnerW/2, plotBase+40, html.EscapeString(xUnit))
	for i, s := range series {
		move := true
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="1.6" d="`, colours[i%len(colours)])
		for j := range min(len(s.X), len(s.Y)) {
			if math.IsNaN(s.Y[j]) {
				move = true
				continue
			}
			letter := "L"
			if move {
				letter, move = "M", false
			}
			fmt.Fprintf(&b, "%s%.1f %.1f ", letter, at(s.X[j]), a.y(s.Y[j]))
		}
		b.WriteString("\"/>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// span is the smallest and the largest value.
func span(series []Series) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, y := range s.Y {
			if !math.IsNaN(y) {
				lo, hi = min(lo, y), max(hi, y)
			}
		}
	}
	if hi < lo {
		return 0, 1
	}
	return lo, hi
}

// axis is the vertical one.
type axis struct {
	lo, hi float64
	log    bool
	ticks  []float64
}

func newAxis(lo, hi float64, log bool) *axis {
	if log {
		a := &axis{lo: math.Pow(10, math.Floor(math.Log10(lo))), hi: math.Pow(10, math.Ceil(math.Log10(hi*1.01))), log: true}
		for v := a.lo; v <= a.hi*1.001; v *= 10 {
			a.ticks = append(a.ticks, v)
		}
		return a
	}
	a := &axis{lo: min(lo, 0)}
	step := nice((max(hi, 0) - a.lo) / 6)
	a.lo = math.Floor(a.lo/step) * step
	for v := a.lo; ; v += step {
		a.ticks, a.hi = append(a.ticks, v), v
		if v > hi {
			return a
		}
	}
}

func (a *axis) y(v float64) float64 {
	part := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		part = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return plotBase - part*plotInnerH
}

// frame writes what stands around the values.
func (a *axis) frame(b *strings.Builder, title, unit string, series []Series) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<text x="%d" y="22" font-size="15" font-weight="bold">%s</text>`+"\n", plotLeft, html.EscapeString(title))
	x := float64(plotLeft)
	for i, s := range series {
		fmt.Fprintf(b, `<rect x="%.1f" y="32" width="10" height="10" fill="%s"/><text x="%.1f" y="41">%s</text>`+"\n", x, colours[i%len(colours)], x+14, html.EscapeString(s.Name))
		x += legendStep + legendPerChar*float64(len(s.Name))
	}
	for _, v := range a.ticks {
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, a.y(v), plotLeft+plotInnerW, a.y(v), plotLeft-6, a.y(v)+4, tick(v))
	}
	fmt.Fprintf(b, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", plotTop+plotInnerH/2, html.EscapeString(unit))
}

// nice rounds a step up to 1, 2 or 5 times a power of ten.
func nice(step float64) float64 {
	if !(step > 0) || math.IsInf(step, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if step <= m*unit*1.000001 {
			return m * unit
		}
	}
	return 10 * unit
}

func tick(v float64) string { return fmt.Sprintf("%.6g", v) }
