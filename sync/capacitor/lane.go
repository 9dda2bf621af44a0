package capacitor

import "github.com/farad-go/farad/internal/xsync"

// A lane is how long an express lane is: so long that it lasts as long as a hundred switches of
// goroutines, with which it competes. Whoever is admitted owns it.
type lane struct {
	since uint32 // when it was last renewed, in units of 1<<10 ns; it may wrap, for it is a hint
	cut   uint8  // how often its length has been halved
}

const laneLasts = 50 // how long, in units of 1<<10 ns

// renew makes the lane half or twice as long as before, if it has lasted too long or a short time.
// Where the one who has been admitted has not had to wait it may last as long as it likes. Q is all
// the places it can have.
func (l *lane) renew(q uint32, waited bool) {
	now := uint32(xsync.Now() >> 10) //nolint:gosec // it wraps
	lasted := now - l.since
	switch {
	case !waited:
		l.cut = 0
	case lasted > laneLasts && q>>l.cut > 1:
		l.cut++
	case lasted < laneLasts/4 && l.cut > 0:
		l.cut--
	default:
	}
	l.since = now
}

// places returns how many of q places the lane has.
func (l *lane) places(q uint32) uint32 { return q >> l.cut }
