package memstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// A Server has the lines and the sessions.
type Server struct {
	mu      sync.Mutex
	now     content
	log     []store.Update
	forgot  int64 // changes up to here are forgotten
	leases  map[int64]*lease
	last    int64         // the newest lease
	changed chan struct{} // closed at each change
	full    bool
}

// A content is what a server has on its disk.
type content struct {
	rev   int64
	lines map[string]*store.State // by ID
}

type lease struct {
	lasts time.Duration
	ends  *time.Timer
	who   string
	epoch int64 // 0: it is no session yet
}

// remembered is for how many revisions a watch may be late.
const remembered = 1 << 12

// NewServer returns a server without anything.
func NewServer() *Server {
	return &Server{
		now:     content{rev: 1, lines: make(map[string]*store.State)},
		leases:  make(map[int64]*lease),
		last:    100,
		changed: make(chan struct{}),
	}
}

// Close stops the timers of the leases.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		l.ends.Stop()
	}
}

// ID returns the ID of a line.
func ID(kind, name string) string { return fmt.Sprintf("%q %q", kind, name) }

// line returns a line for changes. The lock is held.
func (s *Server) line(id string) *store.State {
	if s.now.lines[id] == nil {
		s.now.lines[id] = &store.State{}
	}
	return s.now.lines[id]
}

// state returns a line as it is now. The lock is held.
func (s *Server) state(id string) store.State {
	var st store.State
	if l := s.now.lines[id]; l != nil {
		st = l.Clone()
	}
	st.Rev = s.now.rev
	return st
}

// entry returns an entry as it is now, an empty one if there is none. The lock is held.
func (s *Server) entry(id string, k store.Key) (e store.Entry) {
	l := s.line(id)
	if i := slices.IndexFunc(l.Entries, func(e store.Entry) bool { return e.Key == k }); i >= 0 {
		e = l.Entries[i]
	}
	return e
}

// change makes changes at the next revision. Each has the key and the weight. The lock is held.
func (s *Server) change(events ...store.Event) {
	s.now.rev++
	rev := s.now.rev
	for i := range events {
		e := &events[i]
		e.Create, e.Mod = 0, 0
		if e.Key != store.SizeKey && e.Weight > 0 {
			e.Create, e.Mod = cmp.Or(s.entry(e.Line, e.Key).Create, rev), rev
		}
	}
	for i := range events { // each line once, with all its changes
		id := events[i].Line
		if s.line(id).Rev == rev {
			continue
		}
		var changes []store.Change
		for _, e := range events[i:] {
			if e.Line == id {
				changes = append(changes, e.Change)
			}
		}
		s.line(id).Apply(rev, changes...)
	}
	for _, e := range events {
		if l := s.now.lines[e.Line]; l != nil && len(l.Entries) == 0 && l.SizeMod == 0 {
			delete(s.now.lines, e.Line)
		}
	}
	if len(s.log) >= 2*remembered {
		s.forgot = s.log[remembered-1].Rev
		s.log = slices.Clone(s.log[remembered:])
	}
	s.log = append(s.log, store.Update{Rev: rev, Events: events})
	s.wake()
}

// wake has all watches look.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// grant makes a lease. The lock is held.
func (s *Server) grant(lasts time.Duration) int64 {
	s.last++
	id := s.last
	s.leases[id] = &lease{lasts: lasts, ends: time.AfterFunc(lasts, func() { s.Expire(id) })}
	return id
}

// end ends a lease: its entries vanish. The lock is held.
func (s *Server) end(id int64) {
	l := s.leases[id]
	if l == nil {
		return
	}
	l.ends.Stop()
	delete(s.leases, id)
	var gone []store.Event
	for _, name := range slices.Sorted(maps.Keys(s.now.lines)) {
		for _, e := range s.now.lines[name].Entries {
			if e.Lease == id {
				gone = append(gone, store.Event{Line: name, Change: store.Change{Key: e.Key}})
			}
		}
	}
	s.change(gone...)
}

// Expire ends a lease, as its time does.
func (s *Server) Expire(lease int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(lease)
}

// Alive reports whether a lease lasts.
func (s *Server) Alive(lease int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[lease] != nil
}

// Entries returns how many entries there are.
func (s *Server) Entries() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.now.lines {
		n += len(l.Entries)
	}
	return n
}

// Lines returns how many lines there are of which anything is known.
func (s *Server) Lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.now.lines)
}

// Rev returns the revision.
func (s *Server) Rev() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.rev
}

// Put is an operator's: it makes changes at one revision, which it returns. Each has the line, the
// key and the weight. Nobody asks for leases.
func (s *Server) Put(events ...store.Event) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(events...)
	return s.now.rev
}

// DeleteEntries is an operator's, of a line.
func (s *Server) DeleteEntries(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []store.Event
	for _, e := range s.line(id).Entries {
		gone = append(gone, store.Event{Line: id, Change: store.Change{Key: e.Key}})
	}
	s.change(gone...)
}

// DeleteSize is an operator's, of a line.
func (s *Server) DeleteSize(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(store.Event{Line: id})
	s.line(id).SizeMod = 0
}

// Fill has the server be without space, or have space again. It still deletes.
func (s *Server) Fill(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// Forget forgets all changes until now.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot, s.log = s.now.rev, nil
	s.wake()
}

// Copy returns what is on the disk, for GoBack.
func (s *Server) Copy() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.clone()
}

func (c content) clone() content {
	lines := make(map[string]*store.State)
	for id, l := range c.lines {
		st := l.Clone()
		lines[id] = &st
	}
	return content{c.rev, lines}
}

// GoBack has the server be as it was. Leases go on.
func (s *Server) GoBack(copied any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.log, s.forgot = copied.(content).clone(), nil, 0
}
