//go:build linux

package chaos

import (
	"cmp"
	"errors"
	"net"
	"net/rpc"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/fence"
)

// A Kind is what a worker does at the resource. It enters an operation by its first read.
type Kind uint8

// The kinds. A write follows each read without a look at the permit.
const (
	Enter Kind = iota
	Read
	Write
	Leave
)

// An Act is one message of an operation.
type Act struct {
	Kind   Kind
	Worker int
	Lock   string
	Op     int64 // number of the operation, in all processes
	N      int64
	Token  fence.Token

	Called, Returned time.Duration // of the acquire
	Checked          time.Duration // when the permits were seen to be valid
	Lost             bool          // of Leave: they are not any more

	Last         int64 // the operation of the same goroutine before
	LastReleased time.Duration
}

// An Answer is what the resource says.
type Answer struct {
	Refused bool          // the token is stale
	Skew    time.Duration // by which the worker's wall clock is to be wrong from now on
}

// A Resource is what the locks protect. It does whatever it is asked to, and keeps a record. The
// acts that it accepts there are those that a resource with tokens would have done.
type Resource struct {
	t *testing.T

	mu    sync.Mutex
	locks map[string]*guarded
	skew  map[int]time.Duration // by worker
	trap  *trap
}

// guarded is what one lock protects.
type guarded struct {
	gate    *fence.Gate
	newest  string // of one permit: the order of the newest token
	effects []effect
	ops     map[int64]*operation
	full    int     // refused for want of room
	wrong   []error // other reasons but that a token is stale
}

// operation is what is known of one.
type operation struct {
	Act
	refused  bool // by the gate, when it came
	left     bool
	valid    time.Duration // of what has left: when its permits were seen to be valid last
	released time.Duration // 0: unknown
}

// An effect is a read or a write that has arrived.
type effect struct {
	op       int64
	at       time.Duration
	late     time.Duration // since the look at the permits
	fenced   bool          // accepted by the gate
	compared bool          // accepted by who stores only the newest order
}

// A trap is for one operation: it has entered, and does not get its answer.
type trap struct {
	worker int
	lock   string
	sprung chan Act      // gets the operation
	open   chan struct{} // closed when the answer may go out
}

// serve starts the resource and returns the socket at which workers reach it.
func serve(t *testing.T, locks []string) (*Resource, string) {
	r := &Resource{t: t, locks: map[string]*guarded{}, skew: map[int]time.Duration{}}
	for _, lock := range locks {
		r.locks[lock] = &guarded{gate: fence.NewGate(sizes[lock]), ops: map[int64]*operation{}}
	}
	server := rpc.NewServer()
	require.NoError(t, server.Register(r))
	socket := filepath.Join(t.TempDir(), "resource")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { server.ServeConn(conn) }) // until the worker ends
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		running.Wait()
	})
	return r, socket
}

// Act does what a worker asks for.
func (r *Resource) Act(a Act, answer *Answer) error {
	r.mu.Lock()
	g := r.locks[a.Lock]
	if a.Kind == Leave {
		g.leave(a)
	} else {
		answer.Refused = g.act(a)
	}
	trap := r.trap
	if trap != nil && a.Kind == Enter && a.Worker == trap.worker && a.Lock == trap.lock && !answer.Refused {
		r.trap = nil
		r.mu.Unlock()
		trap.sprung <- a
		<-trap.open
		r.mu.Lock()
	}
	answer.Skew = r.skew[a.Worker]
	r.mu.Unlock()
	return nil
}

func (g *guarded) act(a Act) (refused bool) {
	op := g.ops[a.Op]
	var err error
	if a.Kind == Enter {
		if last := g.ops[a.Last]; last != nil {
			last.released = a.LastReleased
		}
		op = &operation{Act: a}
		g.ops[a.Op] = op
		err = g.gate.Begin(a.Token, a.N)
		op.refused = err != nil
	} else {
		err = g.gate.Check(a.Token)
	}
	switch {
	case errors.Is(err, fence.ErrFull):
		g.full++
	case err != nil && !errors.Is(err, fence.ErrStale):
		g.wrong = append(g.wrong, err)
	}
	e := effect{op: a.Op, at: now(), fenced: err == nil && !op.refused}
	e.late = e.at - a.Checked
	if order := a.Token.Order(); order >= g.newest {
		g.newest, e.compared = order, true
	}
	g.effects = append(g.effects, e)
	return !e.fenced
}

func (g *guarded) leave(a Act) {
	op := g.ops[a.Op]
	if op == nil { // it was lost before it could enter
		op = &operation{Act: a, refused: true}
		g.ops[a.Op] = op
	}
	op.left, op.valid, op.Lost = true, a.Checked, a.Lost
	if !op.refused {
		_ = g.gate.End(a.Token, a.N) // it may have been evicted
	}
}

// overlaps returns how many operations have entered while more than the size was inside. An
// operation is inside from the first to the last of its effects that count.
func (g *guarded) overlaps(size int64, counts func(effect) bool) (found int) {
	type edge struct{ at, n int64 }
	spans := map[int64][2]int64{}
	for i, e := range g.effects {
		if !counts(e) {
			continue
		}
		span, ok := spans[e.op]
		if !ok {
			span[0] = int64(i)
		}
		span[1] = int64(i)
		spans[e.op] = span
	}
	var edges []edge
	for op, span := range spans {
		n := g.ops[op].N
		edges = append(edges, edge{2 * span[0], n}, edge{2*span[1] + 1, -n})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var inside int64
	for _, e := range edges {
		inside += e.n
		if e.n > 0 && inside > size {
			found++
		}
	}
	return found
}

// How an effect counts.
func all(effect) bool        { return true }
func fenced(e effect) bool   { return e.fenced }
func compared(e effect) bool { return e.compared }

// prompt is whether it has arrived within half the margin. What has not was paused by the machine.
func prompt(e effect) bool { return e.late < margin/2 }

// look calls f while nothing happens.
func (r *Resource) look(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// catch sets a trap, waits until it springs, and returns the operation.
func (r *Resource) catch(worker int, lock string) (Act, *trap) {
	trap := &trap{worker: worker, lock: lock, sprung: make(chan Act), open: make(chan struct{})}
	r.look(func() { r.trap = trap })
	select {
	case a := <-trap.sprung:
		return a, trap
	case <-time.After(patience):
		require.FailNow(r.t, "nothing is caught", "worker %d, %s", worker, lock)
		return Act{}, nil
	}
}

// superseded reports whether an operation was accepted whose token shows that op's is dead.
func (r *Resource) superseded(op Act) (is bool) {
	r.look(func() {
		for _, o := range r.locks[op.Lock].ops {
			is = is || !o.refused && o.Token.Rev > op.Token.Rev && !slices.Contains(o.Token.Survivors, op.Token.Lease)
		}
	})
	return is
}

// entered returns how many operations of a lock a worker has begun.
func (r *Resource) entered(worker int, lock string) (n int) {
	r.look(func() {
		for _, o := range r.locks[lock].ops {
			if o.Worker == worker && !o.refused {
				n++
			}
		}
	})
	return n
}
