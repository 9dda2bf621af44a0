package sync

import "github.com/farad-go/farad/internal/xsync"

// A lane is the length of an express lane: long enough to last as long as a hundred switches of
// goroutines, with which it competes. The admitted goroutine owns it.
//
//	31                                        4   3   0
//	+------------------------------------------+-------+
//	|  when it was last renewed, in 1<<10 ns   |  cut  |   how often its length has been halved
//	+------------------------------------------+-------+
//
// The time may wrap, for it is a hint.
type lane uint32

const (
	laneLasts = 100 // how long, in units of 1<<10 ns

	laneShift = 4
	laneCut   = 1<<laneShift - 1
)

// renew halves the lane's length if it has lasted too long, and doubles it if all its places have
// been used in too short a time. If the admitted goroutine has not had to wait, the lane gets its
// full length.
func (l *lane) renew(waited, usedUp bool) {
	now, cut := uint32(xsync.Now()>>10)<<laneShift, l.cut() //nolint:gosec // it wraps
	lasted := (now - uint32(*l)&^laneCut) >> laneShift
	switch {
	case !waited:
		cut = 0
	case lasted > laneLasts && Express>>cut > 1:
		cut++
	case usedUp && lasted < laneLasts/4 && cut > 0:
		cut--
	default:
	}
	*l = lane(now | cut)
}

func (l *lane) cut() uint32 { return uint32(*l) & laneCut }

// places returns how many places the lane has.
func (l *lane) places() uint32 { return Express >> l.cut() }

// missing returns how many places the lane lacks.
func (l *lane) missing() uint32 { return Express - l.places() }
