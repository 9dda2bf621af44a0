package capacitor

import (
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// Stats is what can be observed of a [Mutex] or a [Wrapped]: how far they overtake and wait in
// practice, to be compared with what their type promises. Both collect it only when they have been
// told to, by CollectStats.
//
// What it costs: an atomic addition on the express lane, which only the holder makes; for whoever
// comes to the gate two readings of the clock, and twice a mutex that is held for a few
// instructions. Without CollectStats it is a comparison of a pointer with nil each time.
type Stats struct {
	// Platoons is how many platoons have ended. Those of a Mutex are of one each: so Platoons and
	// Express together are how often it was unlocked, and one more while somebody from the express
	// lane has it.
	Platoons int64

	// Express is how many have taken the express lane.
	Express int64

	// MaxOvertaken is how many have taken the express lane while one was waiting: the most of all
	// waits that ended with the lock. It counts from the moment after that one has taken its place
	// in the queue, or was admitted at once; and it counts all, though some may have come earlier,
	// and not queued. With p before it in the queue it is at most (p + 1) · q for a Mutex with q
	// places in its lane, and (⌈(p+1)/B⌉ + 1) · q for a Wrapped, where besides up to B − 1 of its
	// own platoon may get in first. Behind a gate WithWaitingArray it counts from before the queue,
	// and can be more.
	MaxOvertaken int64

	// LongestWait is the longest time from coming to the gate until having the lock. Those who gave
	// up are not in it, nor those who went past the gate. Who had the lock, and gave it back
	// because the context had ended before, is.
	LongestWait time.Duration
}

// A tally is what a lock has observed so far.
type tally struct {
	// express is counted by the holder, before anybody else can get the lock; and where the places
	// of the lane are counted elsewhere, before it takes one of them. So whoever waits never counts
	// more than the lanes have that open until it has the lock. (TestModelStats)
	express xsync.Int64

	mu    xsync.Mutex
	ended Stats // guarded by mu; without Express
}

// read returns what has been observed: of no tally nothing.
func (t *tally) read() Stats {
	if t == nil {
		return Stats{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.ended
	s.Express = t.express.Load()
	return s
}

// A visit is one wait, as it is observed: from arrive, by way of stand, when the waiter stands in
// the queue or need not, to end, when it has the lock. If it gives up there is no end.
type visit struct {
	t       *tally // nil: it is not observed
	since   int64
	express int64 // how many had taken the express lane
}

func (t *tally) arrive() (v visit) {
	if t != nil {
		v = visit{t: t, since: xsync.Now()}
	}
	return v
}

func (v *visit) stand() {
	if v.t != nil {
		v.express = v.t.express.Load()
	}
}

func (v *visit) end() {
	if v.t != nil {
		v.endObserved()
	}
}

//go:noinline
func (v *visit) endObserved() {
	wait := time.Duration(xsync.Now() - v.since)
	v.t.mu.Lock()
	s := &v.t.ended
	s.MaxOvertaken = max(s.MaxOvertaken, v.t.express.Load()-v.express)
	s.LongestWait = max(s.LongestWait, wait)
	v.t.mu.Unlock()
}
