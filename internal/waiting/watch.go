package waiting

import (
	"context"
	"reflect"

	"github.com/farad-go/farad/internal/xsync"
)

// A wait that a context may end needs a second source of wake-ups. A select on the token and the
// context's done channel is one. It costs more than a plain sleep, and many waits that share the
// channel contend for it. context.AfterFunc is another, at the price of several selects for each
// registration.
//
// A watch pays for one registration and uses it for all further waits on the same done channel.
// When the context ends it sends every parker that is registered with it a nudge; a parker with a
// watch therefore waits by a plain sleep. A registration costs about as much as watchAfter
// selects, so a done channel gets its watch after that many waits: whatever the pattern of use, the
// cost stays below twice the optimum.
//
// Life: a watch lives as long as its context. It is held by the context (as its AfterFunc), by the
// parkers that wait, and by its slot in the table, which it leaves when the context is cancelled or
// collected. It is registered with the context that has the channel, not with the values around it,
// and holds no reference to it. It runs no goroutine, except for the moment of the cancel: foreign
// contexts, for which context.AfterFunc would start one, get no watch and stay with select. So do
// those that find their slots taken.
//
// Invariants:
//
//  1. A parker is linked in the list from the moment it gets its watch until the watch fires or the
//     parker leaves it; the idle one is linked too. (TestWatchNudgesEveryWaiterOnce)
//  2. The watch fires once, and sends each linked parker one nudge under mu. So a parker that
//     leaves under mu knows whether a nudge was sent. (TestParkerIsCleanAfterUse)
//  3. The idle parker has not received its nudge. So a wait that begins after the fire gets no
//     parker from the watch, or one whose nudge is there: it cannot miss the cancel.
//     (TestConsumedNudgeHidesNoCancel)
type watch struct {
	done <-chan struct{} // identity; immutable

	idle xsync.Pointer[Parker] // a linked, unused parker: the next wait takes it without the lock

	mu    xsync.Mutex
	fired bool    // guarded by mu
	list  *Parker // all linked parkers; guarded by mu
}

// watchTable finds the watch of a done channel. A channel has two slots, neighbours, given by its
// address. A slot that serves a living context is not taken from it; a channel that finds both
// taken goes without a watch.
var watchTable [1 << watchTableBits]watchSlot

const watchTableBits = 12

type watchSlot struct {
	watch xsync.Pointer[watch]
	key   xsync.Uintptr // the done channel that was seen here last: a hint, it keeps nothing alive
	hits  xsync.Uint32  // how often in a row
}

// keyOf returns the channel's address, which tells channels apart as long as they live.
func keyOf(done <-chan struct{}) uintptr { return reflect.ValueOf(done).Pointer() }

// watchFor returns the watch of done, nil if there is none (yet).
func watchFor(ctx context.Context, done <-chan struct{}) *watch {
	key := keyOf(done)
	s, second := slotsFor(key)
	w := s.watch.Load()
	if w != nil && w.done == done {
		return w
	}
	if v := second.watch.Load(); v != nil && v.done == done {
		return v
	} else if w != nil {
		if v != nil {
			return nil
		}
		s = second
	}
	if s.key.Load() != key {
		s.key.Store(key)
		s.hits.Store(0)
		return nil
	}
	if s.hits.Load() >= watchAfter || s.hits.Add(1) != watchAfter {
		return nil
	}
	if ctx = cancellable(ctx); ctx == nil {
		return nil
	}
	return newWatch(ctx, done, s)
}

// newWatch registers a watch with ctx, which is one of package context, and publishes it in s.
func newWatch(ctx context.Context, done <-chan struct{}, s *watchSlot) *watch {
	w := &watch{done: done}
	if !s.watch.CompareAndSwap(nil, w) {
		return nil
	}
	vacate := func(w *watch) {
		if s.watch.CompareAndSwap(w, nil) {
			s.key.Store(0) // the channel's address may serve another one
		}
	}
	w.registerWith(ctx, vacate)
	return w
}

// fire nudges every parker that waits with this watch. It holds mu, the one exception to the rule
// that wakes come after unlock. Invariant 2 needs it, and only parkers take these nudges.
func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fired = true
	for p := w.list; p != nil; {
		next := p.wnx
		p.wnx, p.wpv = nil, nil
		p.sleeper.Wake(xsync.Nudge)
		p = next
	}
	w.list = nil
}

// get returns a parker that the watch will nudge, nil if it is too late for that.
func (w *watch) get() *Parker {
	if w.idle.Load() != nil {
		if p := w.idle.Swap(nil); p != nil {
			if p.IsCheapest() {
				return p
			}
			w.part(p)
		}
	}
	p := cheapest().Get().(*Parker)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fired {
		p.Put()
		return nil
	}
	p.watch = w
	p.wnx, p.wpv = w.list, nil
	if w.list != nil {
		w.list.wpv = p
	}
	w.list = p
	return p
}

// put keeps p, which has not received a nudge, for the next wait with this watch, or sends it back
// to the pool.
func (w *watch) put(p *Parker) {
	if w.idle.Load() == nil && w.idle.CompareAndSwap(nil, p) {
		return
	}
	w.part(p)
}

// part sends p, which has not received a nudge, back to the pool.
func (w *watch) part(p *Parker) {
	if w.remove(p) {
		p.sleeper.Sleep() // takes the nudge, which is there
	}
	p.Put()
}

// remove parts p from the watch, and reports whether it was sent a nudge.
func (w *watch) remove(p *Parker) (nudged bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.watch = nil
	if w.fired {
		return true
	}
	if p.wpv == nil {
		w.list = p.wnx
	} else {
		p.wpv.wnx = p.wnx
	}
	if p.wnx != nil {
		p.wnx.wpv = p.wpv
	}
	p.wnx, p.wpv = nil, nil
	return false
}
