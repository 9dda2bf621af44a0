package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
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

// Status returns what this process knows of the lines that it has opened, by name: who holds, who
// waits, and since when. It asks the server for the names of the processes, and nothing else.
func (f *Fleet) Status(ctx context.Context) ([]Status, error) {
	names, err := f.members(ctx)
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, d := range f.running() {
		if isClosed(d.done) {
			continue
		}
		st := d.status()
		for i := range st.Blocks {
			st.Blocks[i].Process = names[st.Blocks[i].Lease]
		}
		i := slices.IndexFunc(all, func(o Status) bool { return o.Name == st.Name })
		if i >= 0 { // opened again; the newest comes first
			all[i].add(&st)
			continue
		}
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// add adds what a line that was closed before has not returned yet.
func (s *Status) add(closed *Status) {
	s.Given += closed.Given
	s.Held += closed.Held
	s.Losses += closed.Losses
}

// members returns the processes of the fleet by their leases.
func (f *Fleet) members(ctx context.Context) (map[int64]string, error) {
	var all []store.Session
	err := f.ask(ctx, func(ctx context.Context) (err error) {
		all, err = f.store.Sessions(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: members: %w", err)
	}
	names := make(map[int64]string)
	for _, s := range all {
		var m member
		if json.Unmarshal([]byte(s.Who), &m) == nil {
			names[s.Lease] = cmp.Or(m.Name, fmt.Sprintf("%s/%d", m.Host, m.PID))
		}
	}
	f.names.Store(&names)
	return names, nil
}

// A mirror is the line as the process knows it. The driver's goroutine writes it, and reads it
// without the lock.
type mirror struct {
	seen   sync.Mutex // held by the driver to write, and by others to read
	state  store.State
	sights []sight // of the entries of state, in their order
	last   []sight // the memory of the sights before
	age    int64   // how often the servers had gone back when state was read
	back   *Back   // when they did last, until the revision from before is reached again
	denied error   // of the last refusal, until what was refused is not any more

	deniedRead bool // that was a read

	changed chan struct{} // closed when state is another; nil: nobody waits for that
}

// known returns what is known now.
func (m *mirror) known() known { return known{m.age, m.state.Rev} }

// A sight is an entry as this process has seen it.
type sight struct {
	key   store.Key
	holds bool
	since time.Time
}

// learn notes what has happened in the line.
func (m *mirror) learn(r revision) {
	m.seen.Lock()
	defer m.seen.Unlock()
	switch {
	case r.whole == nil:
		m.state.Apply(r.rev, r.changes...)
	case r.rev >= m.state.Rev:
		m.state = *r.whole
	}
	if m.back != nil && m.state.Rev > m.back.From {
		m.back = nil
	}
	m.lookLocked()
	m.tellLocked()
}

// tellLocked wakes who waits for another state.
func (m *mirror) tellLocked() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// lookLocked notes since when the entries are as they are. What was seen before is in the order of
// the line, as the entries are.
func (m *mirror) lookLocked() {
	now, before, i := time.Now(), m.sights, 0
	sights := m.last[:0]
	for e, holds := range m.state.Holding {
		s := sight{e.Key, holds, now}
		j := i
		for j < len(before) && before[j].key != e.Key {
			j++
		}
		if j < len(before) {
			if before[j].holds == holds {
				s.since = before[j].since
			}
			i = j + 1
		}
		sights = append(sights, s)
	}
	m.sights, m.last = sights, before
}

// deny notes an error by which the store refuses what the line needs, none if it does not any more.
func (m *mirror) deny(d denial) {
	m.seen.Lock()
	defer m.seen.Unlock()
	m.denied, m.deniedRead = d.err, d.read
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
