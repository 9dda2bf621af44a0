package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A Config says what happens in a run. With one Config all runs are the same.
type Config struct {
	Seed       uint64
	Size       int64 // line.Everyone: a read-write lock
	Processes  int
	Goroutines int           // of each process
	Largest    int64         // request, of a semaphore
	Writers    float64       // share of the requests, of a read-write lock
	Length     time.Duration // until goroutines stop asking; then they finish

	Tenure time.Duration
	Hold   time.Duration // the longest
	Think  time.Duration // the longest, between a release and the next request
	Steady bool          // every hold and every pause between has its full length
	TTL    time.Duration
	Look   time.Duration // the longest until a driver looks at what has happened
	Delay  time.Duration // the longest of a message, one way, unless it is late
	TxnOps int           // operations that a transaction may have; 0: etcd's default
	Lean   bool          // nothing idle is kept
	Unread bool          // agents begin before they know the line; not if the size changes

	Loss   float64 // share of messages that are lost
	Late   float64 // share of messages that take up to the TTL
	Twice  float64 // share of requests that arrive twice
	Cancel float64 // share of requests that end early, if they still wait then

	Faults
}

// Faults happen at random times, in the first three quarters of a run.
type Faults struct {
	Crash  bool // a process ends without a word
	Cut    bool // a process loses the network for a time
	Outage bool // nobody gets an answer for a time
	Resize bool // the size changes
	Full   bool // the server has no space for a time: it refuses to write, and still deletes
	Lag    bool // a watch stands still for a time, while answers arrive
	Deaf   bool // goroutines do not stop when their permits are lost
	Drift  bool // clocks differ by at most one per cent
	Reopen bool // a process closes the line and opens it again
	Deny   bool // the server refuses a process for a time: it may neither read nor write

	// Leases alone do not protect from these: Overlaps counts what happens, and tokens protect.
	Pause  bool // a process stands still for longer than the TTL
	Jump   bool // a process's clock is set back, or its wall clock forth
	Revoke bool // an operator revokes a lease
	Tamper bool // an operator deletes an entry, changes a weight, or writes an entry on no lease

	// Nothing protects from this while not everybody has noticed, and for a TTL.
	Restore bool // the server goes back to an older revision
}

// fenced reports whether permits may be in use that are lost.
func (c *Config) fenced() bool { return c.Pause || c.Jump || c.Revoke || c.Tamper }

// gated reports whether goroutines use a resource that checks tokens.
func (c *Config) gated() bool { return c.fenced() || c.Resize }

// timely reports whether all messages arrive in time, so that waits are bounded.
func (c *Config) timely() bool {
	return c.Loss+c.Late+c.Twice == 0 && !c.Crash && !c.Cut && !c.Outage && !c.Resize && !c.Lag && !c.fenced() &&
		!c.Reopen && !c.Deny && !c.Restore
}

// prompt is timely, and the server always has space.
func (c *Config) prompt() bool { return c.timely() && !c.Full }

func (c *Config) rw() bool { return c.Size == line.Everyone }

func (c *Config) String() string { return fmt.Sprintf("%+v", *c) }

// Kinds are the names of what Random returns.
var Kinds = []string{"prompt", "faults", "fenced", "tampered", "resized", "reopened", "restored", "many"}

// Random returns the Config of a seed. The kind is an index in Kinds.
func Random(kind int, seed uint64) Config {
	r := rand.New(rand.NewPCG(seed, uint64(kind)))
	among := func(n ...time.Duration) time.Duration { return n[r.IntN(len(n))] }
	chance := func(p float64) bool { return r.Float64() < p }
	c := Config{
		Seed: seed, Size: []int64{1, 1, 2, 3, 4, 8, line.Everyone, line.Everyone}[r.IntN(8)],
		Processes: 2 + r.IntN(4), Goroutines: 1 + r.IntN(5),
		Tenure: among(0, time.Millisecond, 5*time.Millisecond, 20*time.Millisecond),
		Hold:   among(0, time.Millisecond, 3*time.Millisecond, 30*time.Millisecond),
		Think:  among(100*time.Microsecond, time.Millisecond, 10*time.Millisecond, 50*time.Millisecond),
		Delay:  among(300*time.Microsecond, time.Millisecond, 3*time.Millisecond),
		TTL:    time.Second, Length: 150 * time.Millisecond, Largest: 1,
		Cancel: []float64{0, 0, 0.1, 0.4}[r.IntN(4)], Writers: []float64{0.1, 0.5}[r.IntN(2)],
		TxnOps: []int{0, 4, 5}[seed%3], Lean: seed%4 == 3, Unread: seed%5 == 2,
	}
	c.Look = among(0, 200*time.Microsecond)
	c.Drift, c.Deaf = chance(0.5), chance(0.5)
	if chance(0.5) {
		c.Largest = min(1+r.Int64N(8), c.Size)
	}
	if c.Hold+c.Think < 2*time.Millisecond { // else there are too many steps, and little happens
		c.Length /= 4
	}
	if kind == 0 {
		c.Resize = !c.rw() && chance(0.2)
		c.Full = !c.Resize && chance(0.3)
		return c
	}
	c.Loss, c.Late, c.Twice = 0.05*r.Float64(), 0.05*r.Float64(), 0.05*r.Float64()
	c.Length, c.Think = 2500*time.Millisecond, among(20*time.Millisecond, 100*time.Millisecond)
	switch kind {
	case 1:
		c.Hold, c.Late = among(3*time.Millisecond, 30*time.Millisecond, 300*time.Millisecond), 0.2*r.Float64()
		c.Crash, c.Cut, c.Outage, c.Resize = chance(0.5), chance(0.5), chance(0.3), chance(0.5) && !c.rw()
		c.Full = chance(0.3)
	case 2:
		c.Crash, c.Cut = chance(0.3), chance(0.3)
		c.Pause, c.Jump, c.Revoke = chance(0.6), chance(0.4), chance(0.3)
		c.Hold = among(30*time.Millisecond, 300*time.Millisecond, 1500*time.Millisecond)
		c.Resize, c.Lag = chance(0.3) && !c.rw(), chance(0.3)
	case 3:
		c.Tamper = true
	case 4:
		c.Resize, c.Lag = true, chance(0.8)
		c.Size, c.Largest = 1+r.Int64N(8), 1+r.Int64N(4)
		c.Loss, c.Late, c.Twice = 0, 0, 0
		c.Hold, c.Think = among(3*time.Millisecond, 30*time.Millisecond, 300*time.Millisecond), c.Think/4
		c.Length = 600 * time.Millisecond
	case 5:
		c.Reopen, c.Deny, c.Cut, c.Twice = true, chance(0.5), chance(0.2), 0
		c.Late, c.Loss = 0.2*r.Float64(), 0.2*r.Float64()
		c.Length, c.Think = 1500*time.Millisecond, among(5*time.Millisecond, 50*time.Millisecond)
		c.Full = chance(0.2)
	case 6:
		c.Restore = true
		c.Hold, c.Think = among(3*time.Millisecond, 30*time.Millisecond), among(5*time.Millisecond, 50*time.Millisecond)
	case 7:
		c.Size, c.Largest = 20+r.Int64N(60), 1+r.Int64N(3)
		c.Processes, c.Goroutines = 2+r.IntN(2), 5+r.IntN(25)
		c.TxnOps = []int{0, 0, 4, 5, 6, 9}[r.IntN(6)]
		c.Hold, c.Think = among(300*time.Millisecond, time.Second), among(50*time.Millisecond, 300*time.Millisecond)
		c.Loss, c.Late, c.Twice = 0.2*r.Float64(), 0.3*r.Float64(), 0.2*r.Float64()
		c.Resize, c.Lag, c.Full = chance(0.5), chance(0.5), chance(0.2)
		c.Length = 800 * time.Millisecond
	}
	return c
}
