package table

// A Path is a sequence of choices. A test that chooses by it, and goes on to the next path until
// there is none, has made every sequence of choices.
type Path struct {
	choices []choice
	depth   int
}

type choice struct{ chosen, of int }

// Choose returns the next choice, out of n.
func (p *Path) Choose(n int) int {
	if p.depth == len(p.choices) {
		p.choices = append(p.choices, choice{0, n})
	}
	c := p.choices[p.depth]
	if c.of != n {
		panic("the code under test does something else in the same circumstances")
	}
	p.depth++
	return c.chosen
}

// Next goes on to the next path, and reports whether there is one.
func (p *Path) Next() bool {
	p.depth = 0
	for n := len(p.choices) - 1; n >= 0; n-- {
		c := &p.choices[n]
		if c.chosen++; c.chosen < c.of {
			p.choices = p.choices[:n+1]
			return true
		}
	}
	return false
}
