package sync

import "github.com/farad-go/farad/internal/xsync"

// A lane is the length of an express lane: long enough to last as long as a hundred switches of
// goroutines, with which it competes. The admitted goroutine owns it.
type lane struct {
	since uint32 // when it was last renewed, in units of 1<<10 ns; it may wrap, for it is a hint
	cut   uint8  // how often its length has been halved
}

const laneLasts = 50 // how long, in units of 1<<10 ns

// renew doubles or halves the lane's length if it has lasted too short or too long. If the
// admitted goroutine has not had to wait, the lane gets its full length, q places.
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
