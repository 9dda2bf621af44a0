package fleet

import (
	"sync"

	"github.com/farad-go/farad/fleet/store"
)

// mostRevisions is how many revisions wait for a driver. If there are more they are dropped, and
// the driver reads the line.
const mostRevisions = 256

// An inbox is what a driver is to look at, and has a goroutine do so: at rest a driver has none.
// Nobody who puts something there waits for the driver.
type inbox struct {
	run    func()  // looks until take reports that nothing is there
	remote *remote // the line, of which changes are passed

	mu        sync.Mutex
	running   bool // run runs, or is about to; for ever if the driver has ended
	something bool // is there, at which run has not looked
	todo
	revisions []revision // in order
	missed    int64      // the line was changed up to here, and not all of that is in revisions
	age       int64      // how often the servers had gone back before these
}

// A todo is what a driver is to do, besides looking at its tenancies and agents.
type todo struct {
	rung      bool            // goroutines of the process have changed something
	strangers bool            // somebody wants names that are not known
	rounds    []chan struct{} // closed when the driver has asked the server once
	answers   []answer        // of transactions
	reads     []revision      // states of the line
	reread    bool            // it was read because changes were missing
	refusal   denial          // of a transaction, of a read or of a new session
	allowed   bool            // a read was not refused, after one that was
}

// An answer is the line after a seat's transaction, or after a read if that was not answered.
type answer struct {
	seat  *seat
	state store.State
	asked known
	epoch int64 // of the transaction
	err   error // of the transaction; nil if it was committed, or found its guards untrue
}

// post has the driver look at what put puts into the inbox.
func (in *inbox) post(put func(in *inbox)) {
	in.mu.Lock()
	put(in)
	in.wakeLocked()
	in.mu.Unlock()
}

func (in *inbox) wakeLocked() {
	in.something = true
	if !in.running {
		in.running = true
		go in.run()
	}
}

// wake has the driver look at its tenancies and agents.
func (in *inbox) wake() { in.post(func(*inbox) {}) }

// ring is wake, but may be some time later. It is what the bell calls.
func (in *inbox) ring() { in.post(func(in *inbox) { in.rung = true }) }

// deliver has the driver learn what somebody has read.
func (in *inbox) deliver(r revision) {
	in.post(func(in *inbox) { in.reads = append(in.reads, r) })
}

// readable says that the line can be read.
func (in *inbox) readable() { in.post(func(in *inbox) { in.allowed = true }) }

// refuse passes an error to the driver, if it is a refusal. Of several only the last counts,
// and that of a read only if there is no other.
func (in *inbox) refuse(r denial) {
	if isRefusal(r.err) {
		in.post(func(in *inbox) {
			if in.refusal.err == nil || !r.read || in.refusal.read {
				in.refusal = r
			}
		})
	}
}

// pass has the driver see what was changed in its line at a revision.
func (in *inbox) pass(at known, events []store.Event) {
	var changes []store.Change
	for i := range events {
		if c := events[i].Change; in.remote.has(c) {
			changes = append(changes, c)
		}
	}
	in.post(func(in *inbox) {
		if len(in.revisions) < mostRevisions {
			in.revisions = append(in.revisions, revision{rev: at.rev, changes: changes})
			return
		}
		in.revisions, in.missed, in.age = nil, at.rev, at.age
	})
}

// miss notes that the driver may have missed what was changed up to a revision, unless it has read
// the line since. Later changes are passed.
func (in *inbox) miss(at known) {
	in.post(func(in *inbox) { in.revisions, in.missed, in.age = nil, at.rev, at.age })
}

// take returns what is there, and whether there is anything. If not, run must end.
func (in *inbox) take() (t todo, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.something {
		in.running = false
		return t, false
	}
	t, in.todo, in.something = in.todo, todo{}, false
	return t, true
}

// follow returns the revisions for a driver that knows the line as it was. If changes before them
// are missing it returns up to where. They stay then, until the driver has read the line. They also
// stay if they are not of the history that the driver knows: it or the feed is about to learn that.
func (in *inbox) follow(at known) (all []revision, missed int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case at.age != in.age:
		return nil, 0
	case at.rev < in.missed:
		return nil, in.missed
	}
	all, in.revisions = in.revisions, nil
	return all, 0
}

// Reads are those of a line by who needs to know it as it is now. Many share a read: it is for all
// who asked before it was sent.
type reads struct {
	running sync.WaitGroup // readAll

	mu   sync.Mutex
	next *read // to be sent
	busy bool  // readAll runs
	over bool  // nothing is read any more
}

// A read waits to be sent, is under way, or has ended.
type read struct {
	done  chan struct{}
	state store.State
	err   error
}

// ask returns the next read, nil if there is no need for one, and runs all if that does not run.
func (r *reads) ask(all func()) *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	if r.next == nil {
		r.next = &read{done: make(chan struct{})}
	}
	if !r.busy {
		r.busy = true
		r.running.Go(all)
	}
	return r.next
}

// take returns the read to send now, nil if there is none.
func (r *reads) take() *read {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next
	r.next, r.busy = nil, next != nil
	return next
}

// end waits until no read is under way. Later ones fail.
func (r *reads) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.running.Wait()
}
