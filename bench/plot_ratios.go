package main

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ratioDrawings returns a drawing for each family that was measured: farad beside the floor and beside the best peer.
func (r *report) ratioDrawings() (all []drawing) {
	for _, family := range []string{familySemaphore, familyLocks, familyTasks} {
		var names []string
		toPeer, toFloor := &whiskers{least: 0.5, most: 2}, &whiskers{least: 0.5, most: 2} // so wide at least
		lines := r.lines()
		slices.Reverse(lines) // upwards
		for _, l := range lines {
			peer, floor := l.ratio(l.quickest(others)), l.ratio(l.quickest(floors))
			if l.family != family || len(peer)+len(floor) == 0 {
				continue
			}
			toPeer.add(len(names), peer)
			toFloor.add(len(names), floor)
			names = append(names, l.name)
		}
		if len(names) == 0 {
			continue
		}
		p := plot.New()
		p.X.Label.Text = "farad's time divided by theirs: below 1 farad is faster"
		p.X.Min, p.X.Max = min(toPeer.least, toFloor.least), max(toPeer.most, toFloor.most)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powersOfTwo(p.X.Min, p.X.Max)
		p.NominalY(names...)
		p.Add(vertical(1, len(names)))
		toPeer.draw(p, "best peer", color.RGBA{R: 20, G: 90, B: 190, A: 255})
		toFloor.draw(p, "floor", color.RGBA{R: 150, G: 150, B: 150, A: 255})
		all = append(all, drawing{
			"ratios-" + family + ".svg", "Farad beside the best peer and the floor: " + family,
			[][]*plot.Plot{{p}},
			10 * vg.Inch, vg.Length(len(names))*0.24*vg.Inch + vg.Inch,
		})
	}
	return all
}

// Whiskers are medians at heights, and how far the rounds reach to the left and to the right of them.
type whiskers struct {
	plotter.XYs
	plotter.XErrors
	least, most float64
}

func (w *whiskers) add(y int, vs []float64) {
	if len(vs) == 0 {
		return
	}
	mid, low, high := median(vs), slices.Min(vs), slices.Max(vs)
	w.least, w.most = min(w.least, low), max(w.most, high)
	w.XYs = append(w.XYs, plotter.XY{X: mid, Y: float64(y)})
	w.XErrors = append(w.XErrors, struct{ Low, High float64 }{mid - low, high - mid})
}

func (w *whiskers) draw(p *plot.Plot, name string, c color.Color) {
	if len(w.XYs) == 0 {
		return
	}
	dots, err := plotter.NewScatter(w.XYs)
	if err != nil { // as in drawnWith
		panic(err)
	}
	bars, err := plotter.NewXErrorBars(w)
	if err != nil {
		panic(err)
	}
	dots.Color, bars.Color = c, c
	dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(3)
	p.Add(bars, dots)
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	p.Legend.Add(name, dots)
}

// vertical is a line at x, past so many names.
func vertical(x float64, names int) *plotter.Line {
	l, err := plotter.NewLine(plotter.XYs{{X: x, Y: -0.5}, {X: x, Y: float64(names) - 0.5}})
	if err != nil {
		panic(err)
	}
	l.Color, l.Dashes = color.Gray{Y: 120}, []vg.Length{vg.Points(3), vg.Points(3)}
	return l
}
