package fleet

import (
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A Status is what a process knows of one line that it has opened.
type Status struct {
	Name   string  `json:"name"` // with its kind: "semaphore exports"
	Size   int64   `json:"size"` // of the fleet; of a read-write lock 2³⁰
	Blocks []Block `json:"blocks"`

	// Of this process.
	Given   int64 `json:"given"`   // permits that its goroutines may hold
	Held    int64 `json:"held"`    // permits that they hold
	Waiting int   `json:"waiting"` // requests
	Losses  int64 `json:"losses"`  // how often it has lost what it had

	// Refused is the error by which the store has refused this process a read, a write or a new
	// session. It is empty once the store does so again. If there is nothing to do, that is asked
	// each TTL/4, or each 5 s if that is less.
	Refused string `json:"refused,omitempty"`

	// Back is there if the servers have gone back to an older revision, as of a snapshot: until the
	// revision from before is reached again, tokens are less than they have been.
	Back *Back `json:"back,omitempty"`
}

// A Block is an entry of a line, in the order of the line: permits that a process holds or waits
// for.
type Block struct {
	Process string        `json:"process"` // its name, where known
	Lease   int64         `json:"lease"`
	Own     bool          `json:"own"` // of this process
	Permits int64         `json:"permits"`
	Holds   bool          `json:"holds"`
	Since   time.Time     `json:"since"`            // when this process first saw it in this state
	Tenure  time.Duration `json:"tenure,omitempty"` // what is left of it, if others wait: of own blocks
}

// add adds what a line that was closed before has not returned yet.
func (s *Status) add(closed *Status) {
	s.Given += closed.Given
	s.Held += closed.Held
	s.Losses += closed.Losses
}

func (d *driver) status() Status {
	d.seen.Lock()
	defer d.seen.Unlock()
	t := d.current.Load()
	st := Status{
		Name: d.kind + " " + d.name, Size: d.state.Size,
		Given: t.Given(), Held: t.Held(), Waiting: t.Waiting(), Losses: d.losses.Load(),
	}
	if d.denied != nil {
		st.Refused = d.denied.Error()
	}
	if d.back != nil {
		b := *d.back
		b.Now = d.state.Rev
		st.Back = &b
	}
	others := false
	lease := int64(0)
	if s := t.session.Load(); s != nil {
		lease = s.lease
	}
	for e, holds := range d.state.Holding {
		others = others || !holds && e.Lease != lease
		st.Blocks = append(st.Blocks, Block{
			Lease: e.Lease, Own: e.Lease == lease, Permits: e.Weight, Holds: holds,
			Since: d.sights[len(st.Blocks)].since,
		})
	}
	for i := range st.Blocks {
		if b := &st.Blocks[i]; others && b.Own && b.Holds {
			b.Tenure = max(0, time.Duration(line.Tenure(&d.state, int64(d.fleet.tenure)))-time.Since(b.Since))
		}
	}
	return st
}
