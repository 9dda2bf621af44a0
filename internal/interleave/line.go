package interleave

import "math/bits"

// A Machine has the costs of operations on the simulated cores, in nanoseconds.
// docs/design/simulator.md has the sources of the figures of [Xeon].
type Machine struct {
	Socket int // how many cores share a socket: thread i runs on core i, alone, and that is of socket i/Socket

	Hit   int64 // a load of a line that the core has a copy of
	Own   int64 // a store or a read-modify-write of a line that no other core has a copy of
	Dirty Route // a load of a line that another core has written
	Clean Route // a load of a line that others have read
	Take  Route // a store or a read-modify-write of a line that others have

	Serve      int64 // how long a clean line is busy with a load while others queue; else as long as the load takes
	Invalidate int64 // what each copy but one adds to a Take

	Spins     int   // how often [Spin] says yes; negative: for ever
	SpinFor   int64 // how long that takes each time
	Yield     int64 // how long a Yield takes: what a thread waits for it sees at the end of one
	Sleep     int64 // to fall asleep
	Notify    int64 // what a wake costs the thread that wakes
	Wake      int64 // how long after that the sleeper runs
	MutexSpin int64 // how long a Mutex is waited for awake
	Pinned    bool  // threads stay on their cores, even if others sleep

	Seed uint64 // for [Run.Jitter]
}

// A Route is what it costs to get a line from another core: of the same socket, or of another.
type Route struct{ Near, Far int64 }

// Xeon returns the default machine: sockets of 32 cores, on which goroutines wait as they do in
// this module.
func Xeon() Machine {
	return Machine{
		Socket: 32,
		Hit:    1, Own: 8,
		Dirty: Route{51, 136}, Clean: Route{21, 105}, Take: Route{56, 152},
		Serve: 10, Invalidate: 1,
		Spins: 4, SpinFor: 50, Yield: 100,
		Sleep: 300, Notify: 300, Wake: 3000, MutexSpin: 1000,
	}
}

// Spinning returns m with waits as in the papers: they never end, and look again every 40 ns.
func (m Machine) Spinning() Machine {
	m.Spins, m.SpinFor, m.Yield = -1, 40, 40
	return m
}

const maxCores = 256

// A coreSet is a set of cores.
type coreSet [maxCores / 64]uint64

func (s *coreSet) has(c int) bool { return s[c/64]&(1<<(c%64)) != 0 }
func (s *coreSet) add(c int)      { s[c/64] |= 1 << (c % 64) }

func (s *coreSet) size() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// A line is one cache line: which cores have copies of it, when it can next move, and which threads
// wait for that.
//
//	copies   dirty
//	none     no      only memory has it: at first, for any core; it costs as if a core had it
//	one      yes     that core has written it, or is to: no other core has it
//	some     no      all of them have read it
type line struct {
	copies coreSet
	dirty  bool
	free   int64 // no other core can get it before
	queue  []int // of cores, in the order in which they came
	waits  []spinner
}

// A spinner is a core that looks at the line again when another has changed it, if its spin
// is still the one.
type spinner struct {
	core int
	spin uint32
}

// has reports whether core c can do without a transfer.
func (l *line) has(c int, write bool) bool {
	if !l.copies.has(c) {
		return false
	}
	return !write || l.dirty || l.copies.size() == 1
}

// others returns how many copies other cores than c have, and whether any of them is on c's socket,
// and on another.
func (l *line) others(m *Machine, c int) (n int, near, far bool) {
	for i, w := range l.copies {
		for ; w != 0; w &= w - 1 {
			o := i*64 + bits.TrailingZeros64(w)
			switch {
			case o == c:
				continue
			case o/m.Socket == c/m.Socket:
				near = true
			default:
				far = true
			}
			n++
		}
	}
	return n, near, far
}

// access gives core c the line, at a time when no other core is getting it, and returns how long
// that takes, and how far the line has come: 0 not at all, 1 from the same socket, 2 from another.
//
// A load is answered by the nearest copy, but for a dirty one, of which there is only one. A store
// has to wait for the farthest.
func (l *line) access(m *Machine, c int, write bool, now int64) (cost int64, from int) {
	if l.has(c, write) {
		if write {
			l.dirty = true
			return m.Own, 0
		}
		return m.Hit, 0
	}
	n, near, far := l.others(m, c)
	pick := func(r Route, isFar bool) {
		cost, from = r.Near, 1
		if isFar {
			cost, from = r.Far, 2
		}
	}
	switch {
	case write:
		pick(m.Take, far)
		cost += m.Invalidate * int64(max(n-1, 0))
		l.free = now + cost
		l.copies = coreSet{}
		l.dirty = true
	case l.dirty:
		pick(m.Dirty, far)
		l.free = now + cost
		l.dirty = false
	default:
		pick(m.Clean, far && !near)
		l.free = now + m.Serve
	}
	l.copies.add(c)
	return cost, from
}
