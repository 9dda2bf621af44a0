package records

import "github.com/farad-go/farad/internal/xsync"

// A mutex is one that hooks may lock without a trace for the race detector.
//
// What hooks do must order nothing in the program: the detector would overlook its races. So they
// lock by enter and leave, which order nothing. Then the detector must not see what the mutex
// guards: all that a hook calls meanwhile is compiled without it, as go:norace says. That is also
// what makes hooks cheap under the detector. It still sees the runtime's maps,
// copy, append and comparisons of arrays: hooks use none of these on what others write. It
// sees callbacks, too: none runs meanwhile. TestRacesAreSeen runs the detector's own tests with all
// locks observed.
//
// Who is no hook may lock as usual, and be seen: such ones are ordered among themselves.
type mutex struct{ xsync.Mutex }

//go:norace
func (m *mutex) enter() {
	xsync.RaceDisable()
	m.Lock()
}

//go:norace
func (m *mutex) leave() {
	m.Unlock()
	xsync.RaceEnable()
}
