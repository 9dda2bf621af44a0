package waiter

// A Line is where a waiter stands, and what it is granted there.
type Line interface {
	// Unlink takes w out of the line, and reports whether it stood there. If not, a claimer was
	// faster, and the outcome is on its way to w.
	Unlink(w *Waiter) bool

	// GiveBack takes back the n permits of a grant that nobody wants. It reports false, and changes
	// nothing, if fewer are held: somebody has released what was not theirs.
	GiveBack(n int64) bool
}

// Wait waits, with p queued in line, until the outcome is there or l ends the wait. It returns the
// outcome, and p is still the caller's; or the error of l, and p has been put: a grant that came
// too late has been given back.
//
// This is the only place where a goroutine's wait ends early.
func Wait[L Line](p *Parker, l Limit, line L) (Outcome, error) {
	if p.Park(l) {
		return p.Outcome(), nil
	}
	n := p.N
	if p.Withdraw(!line.Unlink(&p.Waiter)) == Granted {
		giveBack(line, n)
	}
	return Pending, l.Err()
}

// Keep ends a request for n permits that was granted without a wait. It returns nil if err, which
// the caller got from its context after the grant, is nil. Otherwise it gives the permits back and
// returns err. To ask the context before the request is not enough: the context may end after that,
// and the permits become free after the context has ended. (Park asks for a goroutine that slept.)
func Keep[L Line](line L, n int64, err error) error {
	if err != nil {
		giveBack(line, n)
	}
	return err
}

func giveBack[L Line](line L, n int64) {
	if !line.GiveBack(n) {
		panic("farad: more was released than was held, beside a request that was given up")
	}
}
