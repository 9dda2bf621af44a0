package records

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// maxLocks is how many locks are observed at most, so that the registry is bounded.
const maxLocks = 1 << 14

// registry has the records of all observed locks.
//
// Invariants:
//
//  1. When all calls have returned, a lock has the bit O if and only if its record is in the table.
//     (TestBitAndTableAgree) There is one exception, for a lock that is crowded: [Record.Renewed].
//  2. The registry keeps no lock alive. (TestRegistryKeepsNoLockAlive)
//  3. At most maxLocks records are in the table. (TestRegistryIsBounded)
var registry struct {
	full  xsync.Uint32 // not 0: a lock's slow path found no room, and none has left since
	table xsync.Pointer[table]

	_ cpu.CacheLinePad // those above are read often, and hardly ever written

	mu      xsync.Mutex
	records []*Record   // by ID; guarded by mu
	used    int         // slots of the table that are not nil; guarded by mu
	dropped xsync.Int64 // how often a lock found no room
	holders int         // records at Holders; guarded by mu
}

// A table finds records by the addresses of their locks. It is written under the registry's lock,
// and replaced when it is half full.
type table struct {
	slots []xsync.Pointer[Record] // nil: never used; &lost: not used any more
	shift int
}

var (
	empty = newTable(1)
	lost  = Record{} // drops everything
)

func init() {
	registry.table.Store(empty)
	observed.SetRegistry(func(at uintptr) observed.Record { return find(at) }, joined)
}

// joined observes a lock at the level of [observed.Everything], unless it is observed already, and
// returns its record.
//
//go:norace
func joined(t observed.Type, lock any) observed.Record {
	if xsync.Glance32(&registry.full) != 0 { // no use in taking the registry's lock for each wait
		xsync.RaceDisable()
		registry.dropped.Add(1)
		xsync.RaceEnable()
		return &lost
	}
	l, _ := t.Weak(lock)
	r := join(l, "", observed.Everything(), bySlowPath)
	runtime.KeepAlive(lock)
	return r
}

// newTable returns a table with room for n records.
//
//go:norace
func newTable(n int) *table {
	width := bits.Len(uint(4*n - 1))
	return &table{slots: make([]xsync.Pointer[Record], 1<<width), shift: 64 - width}
}

// first returns where the search for an address begins.
//
//go:norace
func (t *table) first(at uintptr) int { return int(spread(at, t.shift)) }

// golden is 2⁶⁴ ÷ the golden ratio.
const golden = 0x9e3779b97f4a7c15

// spread spreads addresses over 64 − shift bits, by Fibonacci hashing.
//
//go:norace
func spread(at uintptr, shift int) uint64 { return uint64(at) * golden >> shift }

//go:norace
func find(at uintptr) *Record {
	t := xsync.GlancePointer(&registry.table)
	for i := t.first(at); ; i++ { // There are free slots: the table is replaced when it is half full.
		r := xsync.GlancePointer(&t.slots[i&(len(t.slots)-1)])
		if r == nil {
			return &lost
		}
		if r.at == at {
			return r
		}
	}
}

// updateSomeLocked is called after each change of what [observed.Any] reports.
func updateSomeLocked() {
	observed.SetAny(len(registry.records) > 0 || observed.Everything() != observed.Off)
}

// All sets the level of all locks that are made, or take a slow path, from now on, and of all
// executors. It returns what it was.
func All(level observed.Level) observed.Level {
	registry.mu.Lock()
	old := observed.SetEverything(level)
	updateSomeLocked()
	registry.mu.Unlock()
	if level != observed.Off {
		agents.ObserveAll(level)
	}
	return old
}

// why says how a lock comes to be observed.
type why bool

const (
	byName     why = true  // by Watch, at the level that it says
	bySlowPath why = false // by a slow path, or a constructor
)

// join observes a lock, which the caller keeps alive, and returns its record.
//
// Under the race detector the caller is ordered with nobody who has had a lock joined. So it sees
// what others do to the registry and the record only by functions that the detector does not see.
// It sets the bit O itself, on its slow path unseen: a lock is its users', who may write over it
// afterwards, and not ordered by that.
//
//go:norace
func join(l observed.Lock, name string, level observed.Level, w why) *Record {
	if level == observed.Off {
		leave(l.At())
		return &lost
	}
	var enrolled struct {
		r     *Record
		fresh bool
	}
	aside(func() { enrolled.r, enrolled.fresh = enroll(l, name, level, w) })
	r, fresh := enrolled.r, enrolled.fresh
	switch {
	case r == &lost:
		return r
	case w == bySlowPath:
		xsync.RaceDisable()
		r.agree()
		xsync.RaceEnable()
	default:
		r.agree()
	}
	aside(func() { r.begin(fresh) })
	return r
}

// aside calls f. Under the race detector another goroutine does, and the caller is not ordered
// after it.
//
//go:norace
func aside(f func()) {
	if !xsync.Races {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		f()
		xsync.RaceDisable()
		close(done)
		xsync.RaceEnable()
	}()
	xsync.RaceDisable()
	<-done
	xsync.RaceEnable()
}

// enroll puts a lock into the registry, unless it is there, and returns its record. It reports
// whether that is new.
func enroll(l observed.Lock, name string, level observed.Level, w why) (r *Record, fresh bool) {
	waiting.StartRecording() // before the bit O of any lock is set
	at := l.At()
	registry.mu.Lock()
	agents.Identify()
	r = find(at)
	if r != &lost && r.lock != l { // of one that was collected: collected is under way
		removeLocked(r)
		r = &lost
	}
	fresh = r == &lost
	if fresh {
		if len(registry.records) >= maxLocks {
			registry.dropped.Add(1)
			if w == bySlowPath { // An old one that was dropped instead would join again on its next.
				registry.full.Store(1)
				registry.mu.Unlock()
				return &lost, false
			}
			oldest := registry.records[0]
			removeLocked(oldest)
			defer oldest.agree()
			oldest.forget()
		}
		about := l.About()
		if x := l.Value(); x != nil && about.NameOf != nil {
			name = cmp.Or(name, about.NameOf(x))
		}
		r = newRecord(at, about, l)
		insertLocked(r)
		if !observed.Inert { // The collector's goroutine has no place in a scenario.
			r.cleanup = l.AfterCollected(func() { collected(r) })
		}
	}
	if fresh || w == byName {
		countHoldersLocked(r.Level(), level)
		r.set(name, level)
	}
	registry.mu.Unlock()
	return r, fresh
}

// Watch observes a lock or an executor under a name, which may be empty. It reports false if its
// type is unknown, and panics if it is refused.
func Watch(x any, name string, level observed.Level) bool {
	l, known := observed.Weak(x)
	if !known {
		return agents.Watch(x, name, level)
	}
	join(l, name, level, byName)
	runtime.KeepAlive(x)
	return true
}

// Unwatch ends that. What is not observed stays as it is.
func Unwatch(x any) bool { return Watch(x, "", observed.Off) }

// countHoldersLocked counts the records at Holders when the level of one changes. While there are
// any, executors report which task a goroutine runs. Otherwise what one task holds and another
// waits for would be the same worker's. So they begin before the first lock does.
func countHoldersLocked(from, to observed.Level) {
	if from == to || from != observed.Holders && to != observed.Holders {
		return
	}
	if to == observed.Holders {
		registry.holders++
	} else {
		registry.holders--
	}
	agents.ForHolders(registry.holders > 0)
}

// leave ends the observation of the lock at an address.
func leave(at uintptr) {
	registry.mu.Lock()
	r := find(at)
	if r != &lost {
		removeLocked(r)
		r.forget()
	}
	registry.mu.Unlock()
	r.agree()
}

// agree makes the bit O of the lock of r say whether the registry has it. It is called, without the
// registry's lock, after each change of the table: others may run, but the goroutine that sets or
// clears the bit last has seen the table agree after that.
func (r *Record) agree() {
	for r != &lost { // A turn is lost only to another's change of the table.
		on := isObserved(r.at)
		r.lock.Observe(on)
		if isObserved(r.at) == on {
			return
		}
	}
}

// allRecords returns the records of all observed locks, by ID, and how many locks had no room.
func allRecords() (records []*Record, dropped uint64) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return slices.Clone(registry.records), uint64(registry.dropped.Load())
}

func isObserved(at uintptr) bool { return find(at) != &lost }

// collected is called when the lock of r has been collected.
func collected(r *Record) {
	r.leaked()
	registry.mu.Lock()
	removeLocked(r)
	r.forget()
	registry.mu.Unlock()
}

func insertLocked(r *Record) {
	registry.records = append(registry.records, r)
	updateSomeLocked()
	t := registry.table.Load()
	if 2*(registry.used+1) > len(t.slots) { // with slots that are not used any more
		t = newTable(len(registry.records))
		for _, old := range registry.records[:len(registry.records)-1] {
			t.insert(old)
		}
		registry.used = len(registry.records) - 1
	}
	t.insert(r)
	registry.used++
	registry.table.Store(t)
}

func (t *table) insert(r *Record) {
	i := t.first(r.at)
	for t.slots[i&(len(t.slots)-1)].Load() != nil {
		i++
	}
	t.slots[i&(len(t.slots)-1)].Store(r)
}

// removeLocked takes r out of the registry, if it is there.
func removeLocked(r *Record) {
	t := registry.table.Load()
	for i := t.first(r.at); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		switch s.Load() {
		case nil:
			return
		case r:
			s.Store(&lost)
			registry.full.Store(0)
			countHoldersLocked(r.Level(), observed.Off)
			r.cleanup.Stop()
			byID := func(o *Record, id uint64) int { return cmp.Compare(o.id, id) }
			if i, ok := slices.BinarySearchFunc(registry.records, r.id, byID); ok {
				registry.records = slices.Delete(registry.records, i, i+1)
				updateSomeLocked()
			}
			return
		}
	}
}
