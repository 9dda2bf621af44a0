package observe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// A picture is the wait-for graph with a place for everything, in pixels. Parts of the graph that
// have nothing to do with each other stand below each other. One that is a ring, as a deadlock
// often is, is drawn as one; all others in layers, from waiters to holders.
type picture struct {
	Width, Height float64
	Boxes         []box
	Arrows        []arrow
	Note          string
}

// A box is a vertex.
type box struct {
	vertex
	X, Y, W, H float64 // the left upper corner
	ShortTitle string
	ShortSub   string
}

// CX is the middle of the box.
func (b *box) CX() float64 { return b.X + b.W/2 }

// CY is the middle of the box.
func (b *box) CY() float64 { return b.Y + b.H/2 }

// An arrow is an edge: a path, and a head.
type arrow struct {
	edge
	Path, Head string
}

// Measures of a picture. Texts are of 13 and 12 pixels in a font whose characters are all as wide.
const (
	boxHeight    = 46.0
	boxPad       = 14.0
	charTitle    = 7.9
	charSub      = 7.3
	titleLength  = 24
	subLength    = 26
	layerGap     = 64.0
	rowGap       = 18.0
	partGap      = 36.0
	margin       = 6.0
	headLength   = 9.0
	headWidth    = 4.0
	ringMost     = 16 // vertices
	layoutSweeps = 6
)

// draw finds places for a graph. A narrow picture has its rings upright.
func (g *waitGraph) draw(narrow bool) *picture {
	p := &picture{Note: g.note(), Boxes: make([]box, len(g.vertices))}
	for i, n := range g.vertices {
		b := box{vertex: n, H: boxHeight, ShortTitle: cut(n.Title, titleLength), ShortSub: cut(n.Sub, subLength)}
		title, sub := utf8.RuneCountInString(b.ShortTitle), utf8.RuneCountInString(b.ShortSub)
		b.W = 2*boxPad + math.Ceil(max(charTitle*float64(title), charSub*float64(sub)))
		p.Boxes[i] = b
	}
	y := margin
	curves := make([]string, len(g.edges)) // of edges that go back
	round := make(map[int]bool)            // vertices of rings
	for _, part := range g.parts() {
		var width, height float64
		ring := g.ring(part)
		for _, i := range ring {
			round[i] = true
		}
		switch {
		case ring != nil && (narrow || len(ring) == 2): // two arrows between two boxes would be one
			width, height = g.drawColumn(p, ring, curves, y)
		case ring != nil:
			width, height = p.drawRing(ring)
		default:
			width, height = g.drawLayers(p, part, curves, y)
		}
		for _, i := range part {
			p.Boxes[i].X += margin
			p.Boxes[i].Y += y
		}
		p.Width = max(p.Width, width+2*margin)
		y += height + partGap
	}
	p.Height = max(y-partGap+margin, 0)
	for i, e := range g.edges {
		p.Arrows = append(p.Arrows, p.arrow(e, curves[i], round[e.From]))
	}
	return p
}

// parts returns the connected parts of the graph: deadlocks first, then the large ones.
func (g *waitGraph) parts() [][]int {
	part := make([]int, len(g.vertices))
	for i := range part {
		part[i] = i
	}
	var root func(i int) int
	root = func(i int) int {
		if part[i] != i {
			part[i] = root(part[i])
		}
		return part[i]
	}
	for _, e := range g.edges {
		part[root(e.From)] = root(e.To)
	}
	members := make(map[int][]int)
	var roots []int
	for i := range g.vertices {
		r := root(i)
		if members[r] == nil {
			roots = append(roots, r)
		}
		members[r] = append(members[r], i)
	}
	var parts [][]int
	for _, r := range roots {
		parts = append(parts, members[r])
	}
	calm := func(part []int) int {
		if slices.ContainsFunc(part, func(i int) bool { return g.vertices[i].Deadlock }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(parts, func(a, b []int) int {
		return cmp.Or(cmp.Compare(calm(a), calm(b)), cmp.Compare(len(b), len(a)))
	})
	return parts
}

// ring returns a part in the order of its arrows if it is a ring that is not too large to show.
func (g *waitGraph) ring(part []int) []int {
	if len(part) > ringMost {
		return nil
	}
	next, in := make(map[int]int), make(map[int]int)
	for _, e := range g.edges {
		if !slices.Contains(part, e.From) {
			continue
		}
		if _, twice := next[e.From]; twice {
			return nil
		}
		next[e.From] = e.To
		in[e.To]++
	}
	ring := []int{part[0]}
	for at, ok := next[part[0]]; ok && at != part[0]; at, ok = next[at] {
		if len(ring) == len(part) || in[at] != 1 {
			return nil
		}
		ring = append(ring, at)
	}
	if len(ring) != len(part) || len(next) != len(part) {
		return nil
	}
	return ring
}

// drawRing puts boxes on an ellipse, which is wider than it is high, as the boxes are.
func (p *picture) drawRing(ring []int) (width, height float64) {
	wide := 0.0
	for _, i := range ring {
		wide = max(wide, p.Boxes[i].W)
	}
	n := float64(len(ring))
	step := 2 * math.Pi / n
	rx, ry := wide*0.62, boxHeight*1.6
	if n > 4 {
		rx = max(rx, (wide+layerGap)/(2*math.Sin(step/2)))
		ry = max(ry, (boxHeight+2.2*rowGap)/math.Sin(step))
	}
	width, height = 2*rx+wide, 2*ry+boxHeight
	for k, i := range ring {
		angle := -math.Pi/2 + float64(k)*step
		b := &p.Boxes[i]
		b.X = width/2 + rx*math.Cos(angle) - b.W/2
		b.Y = height/2 + ry*math.Sin(angle) - b.H/2
	}
	return width, height
}

// drawColumn puts the boxes of a ring below each other, with the last arrow beside them.
func (g *waitGraph) drawColumn(p *picture, ring []int, curves []string, top float64) (width, height float64) {
	const gap, side = 26.0, 22.0
	for _, i := range ring {
		width = max(width, p.Boxes[i].W)
	}
	for k, i := range ring {
		b := &p.Boxes[i]
		b.X, b.Y = (width-b.W)/2, float64(k)*(boxHeight+gap)
	}
	height = float64(len(ring))*(boxHeight+gap) - gap
	first, last := &p.Boxes[ring[0]], &p.Boxes[ring[len(ring)-1]]
	for k, e := range g.edges {
		if e.From == ring[len(ring)-1] {
			x, y1, y2 := margin+width+side, top+last.CY(), top+first.CY()
			curves[k] = fmt.Sprintf("M%.1f %.1fH%.1fQ%.1f %.1f %.1f %.1fV%.1fQ%.1f %.1f %.1f %.1fH%.1f",
				margin+last.X+last.W, y1, x-bend, x, y1, x, y1-bend,
				y2+bend, x, y2, x-bend, y2, margin+first.X+first.W+headLength-2)
		}
	}
	return width + side, height
}

// drawLayers puts boxes in layers, waiters on the left.
func (g *waitGraph) drawLayers(p *picture, part []int, curves []string, top float64) (width, height float64) {
	out := make(map[int][]int) // edges
	in := make(map[int]int)    // how many
	for k, e := range g.edges {
		if slices.Contains(part, e.From) {
			out[e.From] = append(out[e.From], k)
			in[e.To]++
		}
	}
	back := g.backEdges(part, out, in)
	layer := g.layersOf(part, out, back)
	var layers [][]int
	for _, i := range part {
		for len(layers) <= layer[i] {
			layers = append(layers, nil)
		}
		layers[layer[i]] = append(layers[layer[i]], i)
	}
	g.untangle(layers, out)
	for _, l := range layers {
		height = max(height, float64(len(l))*(boxHeight+rowGap)-rowGap)
	}
	if len(back) > 0 {
		width = layerGap / 2 // what goes back may run there
	}
	right := make([]float64, len(layers))
	left := make([]float64, len(layers))
	for k, l := range layers {
		wide := 0.0
		for _, i := range l {
			wide = max(wide, p.Boxes[i].W)
		}
		left[k], right[k] = width, width+wide
		y := (height - float64(len(l))*(boxHeight+rowGap) + rowGap) / 2
		for _, i := range l {
			p.Boxes[i].X, p.Boxes[i].Y = width+(wide-p.Boxes[i].W)/2, y
			y += boxHeight + rowGap
		}
		width += wide + layerGap
	}
	width -= layerGap
	if len(back) > 0 {
		width += layerGap / 2
	}
	below, n := height, 0.0
	for _, i := range part {
		for _, k := range out[i] {
			if !back[k] {
				continue
			}
			below += lane
			e := g.edges[k]
			curves[k] = wayBack(&p.Boxes[e.From], &p.Boxes[e.To], margin+right[layer[e.From]]+bend+n,
				margin+left[layer[e.To]]-bend-headLength/2-n, top, top+below)
			n = math.Mod(n+3, 12)
		}
	}
	return width, below
}

// lane is the room of an arrow that goes back, bend the radius of its corners.
const lane, bend = 14.0, 10.0

// wayBack draws an arrow that goes back: out between two layers, below everything, and in again.
// Places of boxes do not have the margin and the top yet.
func wayBack(from, to *box, x1, x2, top, y float64) string {
	y1, y2 := top+from.CY(), top+to.CY()
	return fmt.Sprintf("M%.1f %.1fH%.1fQ%.1f %.1f %.1f %.1fV%.1fQ%.1f %.1f %.1f %.1f"+
		"H%.1fQ%.1f %.1f %.1f %.1fV%.1fQ%.1f %.1f %.1f %.1fH%.1f",
		margin+from.X+from.W, y1, x1-bend, x1, y1, x1, y1+bend, y-bend, x1, y, x1-bend, y,
		x2+bend, x2, y, x2, y-bend, y2+bend, x2, y2, min(x2+bend, margin+to.X), y2, margin+to.X-headLength+2)
}

// backEdges returns edges without which a part has no cycle: those by which a walk in depth
// returns.
func (g *waitGraph) backEdges(part []int, out map[int][]int, in map[int]int) map[int]bool {
	back := make(map[int]bool)
	const open, done = 1, 2
	state := make(map[int]int)
	var walk func(i int)
	walk = func(i int) {
		state[i] = open
		for _, k := range out[i] {
			switch to := g.edges[k].To; state[to] {
			case open:
				back[k] = true
			case 0:
				walk(to)
			}
		}
		state[i] = done
	}
	starts := slices.Clone(part)
	slices.SortStableFunc(starts, func(a, b int) int { return cmp.Compare(in[a], in[b]) }) // nobody waits for the first
	for _, i := range starts {
		if state[i] == 0 {
			walk(i)
		}
	}
	return back
}

// layersOf returns the layer of each vertex: one more than those of all that point at it.
func (g *waitGraph) layersOf(part []int, out map[int][]int, back map[int]bool) map[int]int {
	layer := make(map[int]int)
	for range part { // a path has at most so many vertices
		changed := false
		for _, i := range part {
			for _, k := range out[i] {
				if to := g.edges[k].To; !back[k] && layer[to] <= layer[i] {
					layer[to] = layer[i] + 1
					changed = true
				}
			}
		}
		if !changed {
			break
		}
	}
	for _, i := range part { // one that only waits stands beside what it waits for
		if len(out[i]) == 1 && layer[i] == 0 && !back[out[i][0]] {
			layer[i] = layer[g.edges[out[i][0]].To] - 1
		}
	}
	return layer
}

// untangle puts the vertices of each layer in the order of the middle of their neighbours.
func (g *waitGraph) untangle(layers [][]int, out map[int][]int) {
	near := make(map[int][]int)
	for i, edges := range out {
		for _, k := range edges {
			near[i] = append(near[i], g.edges[k].To)
			near[g.edges[k].To] = append(near[g.edges[k].To], i)
		}
	}
	at := make(map[int]float64)
	for range layoutSweeps {
		for _, l := range layers {
			for k, i := range l {
				at[i] = float64(k) - float64(len(l)-1)/2
			}
		}
		for _, l := range layers {
			middle := make(map[int]float64)
			for _, i := range l {
				for _, j := range near[i] {
					middle[i] += at[j] / float64(len(near[i]))
				}
			}
			slices.SortStableFunc(l, func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
		}
	}
}

// arrow draws an edge from box to box, straight if it is of a ring, or along a curve.
func (p *picture) arrow(e edge, curve string, straight bool) arrow {
	from, to := &p.Boxes[e.From], &p.Boxes[e.To]
	if curve != "" {
		if straight { // the last of a column comes from the side
			return arrow{edge: e, Path: curve, Head: head(to.X+to.W, to.CY(), -1, 0)}
		}
		return arrow{edge: e, Path: curve, Head: head(to.X, to.CY(), 1, 0)}
	}
	if !straight && to.X >= from.X+from.W {
		x1, y1, x2, y2 := from.X+from.W, from.CY(), to.X, to.CY()
		bend := (x2 - x1) / 2
		return arrow{
			edge: e, Path: fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, x1+bend, y1, x2-bend,
				y2, x2-headLength+2, y2),
			Head: head(x2, y2, 1, 0),
		}
	}
	dx, dy := to.CX()-from.CX(), to.CY()-from.CY()
	x1, y1 := edgeOf(from, dx, dy)
	x2, y2 := edgeOf(to, -dx, -dy)
	length := max(math.Hypot(dx, dy), 1)
	dx, dy = dx/length, dy/length
	return arrow{
		edge: e, Path: fmt.Sprintf("M%.1f %.1fL%.1f %.1f", x1, y1, x2-dx*(headLength-2), y2-dy*(headLength-2)),
		Head: head(x2, y2, dx, dy),
	}
}

// edgeOf returns where a ray from the middle of a box leaves it. The ends of agents are round.
func edgeOf(b *box, dx, dy float64) (x, y float64) {
	t := math.Inf(1)
	if dx != 0 {
		t = min(t, b.W/2/math.Abs(dx))
	}
	if dy != 0 {
		t = min(t, b.H/2/math.Abs(dy))
	}
	if math.IsInf(t, 1) {
		t = 0
	}
	if r := b.H / 2; b.Lock == nil && math.Abs(t*dx) > b.W/2-r { // on a circle of radius r about (c, 0)
		c := b.W/2 - r
		dot, square := math.Abs(dx)*c, dx*dx+dy*dy
		t = (dot + math.Sqrt(max(dot*dot-square*(c*c-r*r), 0))) / square
	}
	return b.CX() + t*dx, b.CY() + t*dy
}

// head draws the head of an arrow that ends at a point, in a direction of length 1.
func head(x, y, dx, dy float64) string {
	bx, by := x-headLength*dx, y-headLength*dy
	return fmt.Sprintf("%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y, bx-headWidth*dy, by+headWidth*dx, bx+headWidth*dy,
		by-headWidth*dx)
}
