package limit

// warmUp is how many samples an average takes before it is one to rely on.
const warmUp = 10

// average is the mean of the first samples, and an exponential average of the later ones.
type average struct {
	value float64
	n     int // samples up to now, warmUp at most
}

// add takes a sample into account, a later one with the weight.
func (a *average) add(x, weight float64) {
	if a.n < warmUp {
		a.n++
		weight = 1 / float64(a.n)
	}
	a.value += (x - a.value) * weight
}

func (a *average) isWarm() bool { return a.n == warmUp }
