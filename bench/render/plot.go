package render

import (
	"fmt"
	"html"
	"image/color"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/report"
)

// The files of the capacitor's plots.
const (
	FigureFile = "capacitor-figure.svg"
	PlaneFile  = "capacitor-plane.svg"
)

// A Drawing is one file of plots, side by side and one above the other.
type Drawing struct {
	file, caption string
	plots         [][]*plot.Plot
	width, height vg.Length
}

// CapacitorDrawings returns figure and plane, as far as they have been measured.
func CapacitorDrawings(r *report.Report) (all []Drawing) {
	if plots := drawsFigure(r); plots != nil {
		all = append(all, Drawing{FigureFile, "The capacitor round other locks", plots, 12 * vg.Inch, 5 * vg.Inch})
	}
	if plots := drawsPlane(r); plots != nil {
		all = append(all, Drawing{PlaneFile, "Platoons and express lane", plots, 9 * vg.Inch, 4 * vg.Inch})
	}
	return all
}

// SaveDrawings writes each drawing into its file in the folder.
func SaveDrawings(folder string, drawings []Drawing) error {
	for _, d := range drawings {
		if err := report.Write(filepath.Join(folder, d.file), d.svg()); err != nil {
			return err
		}
	}
	return nil
}

// narrowWidth is that of a phone, and narrowHeight that of one of several plots there.
const narrowWidth, narrowHeight = 4 * vg.Inch, 2.5 * vg.Inch

// svg draws.
func (d *Drawing) svg() string { return svgOf(d.plots, d.width, d.height) }

// narrow draws for a narrow screen: one plot below the other, column by column.
func (d *Drawing) narrow() string {
	var stack [][]*plot.Plot
	for column := range d.plots[0] {
		for row := range d.plots {
			stack = append(stack, []*plot.Plot{d.plots[row][column]})
		}
	}
	height := d.height
	if len(stack) > 1 {
		height = vg.Length(len(stack)) * narrowHeight
	}
	return svgOf(stack, narrowWidth, height)
}

func svgOf(plots [][]*plot.Plot, width, height vg.Length) string {
	svg := vgsvg.New(width, height)
	svg.SetColor(color.White)
	svg.Fill(vg.Rectangle{Max: vg.Point{X: width, Y: height}}.Path())
	const margin = vg.Length(8)
	tiles := draw.Tiles{
		Rows: len(plots), Cols: len(plots[0]),
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: 2 * margin, PadX: margin, PadY: margin,
	}
	canvases := plot.Align(plots, tiles, draw.New(svg))
	for i, row := range plots {
		for j, p := range row {
			p.Draw(canvases[i][j])
		}
	}
	w := new(strings.Builder)
	_, _ = svg.WriteTo(w) // a Builder takes everything
	return withAnyFont(w.String())
}

// sans is the plots' font. A viewer has it, or one with the same widths, or another one.
const sans = "Liberation Sans"

func init() { plot.DefaultFont.Variant = "Sans" }

var textOfSVG = regexp.MustCompile(`(<text [^>]*font-family:)` + sans + `(;[^>]*font-size:([0-9.]+)px")>([^<]*)<`)

// withAnyFont makes each text as long as the plot library has reckoned, for a viewer without that
// font, too: there names would cross the axes.
func withAnyFont(svg string) string {
	return textOfSVG.ReplaceAllStringFunc(svg, func(text string) string {
		m := textOfSVG.FindStringSubmatch(text)
		size, _ := strconv.ParseFloat(m[3], 64) // digits, the pattern says
		f := plot.DefaultFont
		f.Size = font.Points(size)
		face := font.DefaultCache.Lookup(f, f.Size)
		length := face.Width(html.UnescapeString(m[4]))
		return fmt.Sprintf(
			"%s%s,Arial,Helvetica,sans-serif%s textLength=\"%.2f\" lengthAdjust=\"spacingAndGlyphs\">%s<",
			m[1],
			sans,
			m[2],
			length.Points(),
			m[4],
		)
	})
}

// The figures that are drawn.
func millionsPerSecond(s locks.Sample) float64 { return 1e3 / s.NsPerOp }

// A curve is one line of a plot.
type curve struct {
	name   string
	color  color.Color
	points plotter.XYs
}

// curveOf returns the medians of a figure at each of n places; where says what was measured there.
func curveOf(
	rs locks.Results,
	name string,
	c color.Color,
	n int,
	figure func(locks.Sample) float64,
	where func(i int) (x float64, workload, impl string),
) curve {
	points := make(plotter.XYs, 0, n)
	for i := range n {
		x, workload, impl := where(i)
		if y, ok := rs.Median(workload, impl, figure); ok {
			points = append(points, plotter.XY{X: x, Y: y})
		}
	}
	return curve{name, c, points}
}

// drawnWith returns p with curves, nil if none of them has a point.
func drawnWith(p *plot.Plot, curves []curve, legend bool) *plot.Plot {
	drawn := false
	for _, c := range curves {
		if len(c.points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(c.points)
		if err != nil { // a point that is no number: no sample has one
			panic(err)
		}
		line.Color, dots.Color = c.color, c.color
		line.Width = vg.Points(1.2)
		dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(2)
		p.Add(line, dots)
		if legend {
			p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
			p.Legend.Add(c.name, line, dots)
		}
		drawn = true
	}
	if !drawn {
		return nil
	}
	return p
}

// ticks names places of an axis.
func ticks(names []int, at func(i int) float64) plot.ConstantTicks {
	ts := make(plot.ConstantTicks, len(names))
	for i, n := range names {
		ts[i] = plot.Tick{Value: at(i), Label: strconv.Itoa(n)}
	}
	return ts
}

// logarithmic makes p's vertical axis that, from low to high, with a tick for each power of two.
func logarithmic(p *plot.Plot, low, high float64) {
	p.Y.Min, p.Y.Max = low, high
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = powersOfTwo(low, high)
}

// powersOfTwo are the ticks of a logarithmic axis.
func powersOfTwo(low, high float64) (ts plot.ConstantTicks) {
	for v := 1.0 / 1024; v <= high; v *= 2 {
		if v >= low {
			ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
		}
	}
	return ts
}

// What a vertical axis shows stands above it: the library takes the middle of a logarithmic axis
// for another place, and leaves room for a name there.
const fairnessTitle = "fairness, min/max"

// fair makes p's vertical axis that of fairness.
func fair(p *plot.Plot) {
	p.Y.Min, p.Y.Max = 0, 1.05
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"},
		{Value: 0.25},
		{Value: 0.5, Label: "0.5"},
		{Value: 0.75},
		{Value: 1, Label: "1"},
	}
}

// extremes returns the least and the greatest median of a figure over all that the workloads have
// measured.
func extremes(rs locks.Results, figure func(locks.Sample) float64, workloads ...locks.Bench) (low, high float64) {
	for _, w := range workloads {
		for _, im := range w.Impls {
			if v, ok := rs.Median(w.Name, im.Name, figure); ok {
				low, high = min(v, low), max(v, high)
				if low == 0 {
					low = v
				}
			}
		}
	}
	return low, high
}

// The paper's colours: bare, wrapped, fractional.
var figureColors = []color.Color{red, blue, purple}

// drawsFigure returns throughput, above, and fairness, below, of each lock against the number of
// goroutines; nil if it was not measured.
func drawsFigure(r *report.Report) [][]*plot.Plot {
	var workloads []locks.Bench
	for _, n := range capacitor.FigureSizes {
		workloads = append(workloads, capacitor.Figure(n))
	}
	low, high := extremes(r.Locks, millionsPerSecond, workloads...)
	rows := make([][]*plot.Plot, 2)
	for i, l := range capacitor.FigureLocks {
		for row, of := range []func(locks.Sample) float64{millionsPerSecond, locks.Fairness} {
			var curves []curve
			for k, v := range capacitor.FigureVariants {
				curves = append(
					curves,
					curveOf(
						r.Locks,
						v.Name,
						figureColors[k],
						len(capacitor.FigureSizes),
						of,
						func(i int) (float64, string, string) {
							n := capacitor.FigureSizes[i]
							return float64(n), capacitor.FigureName(n), v.Around(l).Name
						},
					),
				)
			}
			p := plot.New()
			p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(
				capacitor.FigureSizes,
				func(i int) float64 { return float64(capacitor.FigureSizes[i]) },
			)
			p.X.Min = float64(capacitor.FigureSizes[0])
			p.X.Max = float64(capacitor.FigureSizes[len(capacitor.FigureSizes)-1])
			if row == 0 {
				p.Title.Text = l.Name + ", million/s"
				logarithmic(p, low/1.5, high*4) // the legend stands above the lines
			} else {
				p.Title.Text = fairnessTitle
				p.X.Label.Text = "goroutines"
				fair(p)
			}
			if drawnWith(p, curves, i == 0 && row == 0) == nil {
				return nil
			}
			rows[row] = append(rows[row], p)
		}
	}
	return rows
}

// planeColors has one for each of planeB.
var planeColors = []color.Color{purple, blue, teal, green, amber, red}

// drawsPlane returns time, and fairness, against the length of the express lane for each length of
// the platoons; nil if they were not measured.
func drawsPlane(r *report.Report) [][]*plot.Plot {
	low, high := extremes(r.Locks, locks.NsPerOp, capacitor.Plane(64))
	row := make([]*plot.Plot, 2)
	for i, of := range []func(locks.Sample) float64{locks.NsPerOp, locks.Fairness} {
		var curves []curve
		for k, b := range capacitor.PlaneB {
			curves = append(
				curves,
				curveOf(
					r.Locks,
					fmt.Sprintf("B = %d", b),
					planeColors[k],
					len(capacitor.PlaneQ),
					of,
					func(i int) (float64, string, string) {
						return float64(i), locks.PlaneName, capacitor.PlaneImpl(b, capacitor.PlaneQ[i])
					},
				),
			)
		}
		p := plot.New()
		p.X.Label.Text = "Q, places of the express lane"
		p.X.Tick.Marker = ticks(capacitor.PlaneQ, func(i int) float64 { return float64(i) })
		if i == 0 {
			p.Title.Text = "ns per acquisition"
			logarithmic(p, low/1.5, high*4) // as above
		} else {
			p.Title.Text = fairnessTitle
			fair(p)
		}
		if row[i] = drawnWith(p, curves, i == 0); row[i] == nil {
			return nil
		}
	}
	return [][]*plot.Plot{row}
}
