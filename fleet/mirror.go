package fleet

import (
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// A known is what a process knew when it asked: how often the servers had gone back, and the
// revision of the line.
type known struct{ age, rev int64 }

// A Back says that the servers have gone back to an older revision. The tokens of permits that were
// granted since are less than those from before. A resource that has seen one of those refuses
// them, until the revision From is reached again.
type Back struct {
	From int64     `json:"from"` // the revision that was known
	To   int64     `json:"to"`   // the one that was found
	Now  int64     `json:"now"`  // the one that is known now
	At   time.Time `json:"at"`
}

// A revision is all changes of a line at one revision, or the line as a whole.
type revision struct {
	rev     int64
	changes []store.Change
	whole   *store.State
	asked   known // before the whole was asked for
	writes  bool  // it was asked for in a way that needs the right to write
}

// A denial is an error by which the store has refused something that a line needs.
type denial struct {
	err  error
	read bool // it was of a read
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
	m.notifyLocked()
}

// notifyLocked wakes those who wait for another state.
func (m *mirror) notifyLocked() {
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
