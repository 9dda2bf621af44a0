package sim

import (
	"maps"
	"slices"

	"github.com/farad-go/farad/fleet/internal/line"
	stores "github.com/farad-go/farad/fleet/store"
)

// A store is the model of etcd: one line, and the leases.
type store struct {
	rev     int64
	size    int64
	sizeMod int64           // the revision at which it was written last
	entries []entry         // by place in the line
	leases  map[int64]int64 // when each ends
	last    int64           // the newest lease
	log     []revision
	epochs  map[int64]int64 // the revision at which each lease's transactions were fenced last
	strays  []line.Entry    // that are on no lease, or on another than they say
	commits int             // transactions that changed something
	most    int             // operations that a transaction may have
}

// defaultTxnOps is what etcd takes by default (--max-txn-ops): it refuses a transaction with more
// guards, with more operations if they are true, or with more otherwise.
const defaultTxnOps = 128

type entry struct {
	line.Entry
	held    bool  // it holds, or did before the size fell
	created int64 // time
	before  int   // how many were before it then
	fits    bool  // it did, with the size that was written at revision fitted
	fitted  int64
}

// A revision is what a watch delivers.
type revision struct {
	rev     int64
	changes []line.Change
}

func (s *store) find(k line.Key) int {
	return slices.IndexFunc(s.entries, func(e entry) bool { return e.Key == k })
}

// takes reports whether the server takes a transaction. It has a guard for each operation, one for
// the epoch, and if it merges one for the size. It reads the line besides.
func (s *store) takes(t *line.Txn) bool {
	guards := len(t.Ops) + 1
	if t.Merges {
		guards++
	}
	return guards <= s.most
}

// writes reports whether a transaction needs space.
func writes(t *line.Txn) bool {
	return t.Fence || slices.ContainsFunc(t.Ops, func(op line.Op) bool { return op.Weight > 0 })
}

// fence has all transactions of a lease fail that are under way, if the lease exists.
func (s *store) fence(lease int64) bool {
	if _, ok := s.leases[lease]; !ok {
		return false
	}
	s.rev++
	s.epochs[lease] = s.rev
	s.logged(nil)
	return true
}

// commit carries out a transaction if the guards of all are true and the lease exists.
func (s *store) commit(now int64, f *flight) bool {
	if s.epochs[f.by.lease] != f.epoch || f.txn.Merges && s.sizeMod != f.txn.SizeMod {
		return false
	}
	ops := f.txn.Ops
	for _, op := range ops {
		var mod int64
		if i := s.find(op.Key); i >= 0 {
			mod = s.entries[i].Mod
		}
		if mod != op.Mod {
			return false
		}
		if _, ok := s.leases[op.Lease]; !ok {
			return false
		}
	}
	s.rev++
	var changes []line.Change
	for _, op := range ops {
		changes = append(changes, s.put(now, op.Key, op.Weight))
	}
	s.logged(changes)
	s.commits++
	return true
}

// put sets the weight of an entry at the present revision, or deletes it with weight 0.
func (s *store) put(now int64, k line.Key, weight int64) line.Change {
	i := s.find(k)
	switch {
	case weight == 0:
		s.entries = slices.Delete(s.entries, i, i+1)
		return line.Change{Key: k}
	case i < 0:
		i = len(s.entries)
		s.entries = append(s.entries, entry{Entry: line.Entry{Key: k, Create: s.rev}, created: now, before: i})
	}
	s.entries[i].Mod, s.entries[i].Weight = s.rev, weight
	return s.entries[i].Entry
}

func (s *store) logged(changes []line.Change) {
	s.log = append(s.log, revision{s.rev, changes})
}

// end deletes the entries of a lease, as its end does.
func (s *store) end(lease int64) bool {
	if _, ok := s.leases[lease]; !ok {
		return false
	}
	delete(s.leases, lease)
	var changes []line.Change
	for _, e := range s.entries {
		if e.Lease == lease {
			changes = append(changes, line.Change{Key: e.Key})
		}
	}
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.Lease == lease })
	if changes != nil {
		s.rev++
		s.logged(changes)
	}
	return true
}

// settle brings up to date who holds, and calls turn for each entry that begins to.
func (s *store) settle(turn func(e *entry)) {
	var sum int64
	for i := range s.entries {
		e := &s.entries[i]
		if sum += e.Weight; sum > s.size {
			return
		}
		if !e.held {
			e.held = true
			turn(e)
		}
	}
}

// held returns what entries hold.
func (s *store) held(of func(k line.Key) bool) (sum int64) {
	for i := range s.entries {
		if e := &s.entries[i]; e.held && of(e.Key) {
			sum += e.Weight
		}
	}
	return sum
}

func all(line.Key) bool { return true }

// stray is a write by hand: of a key that names a lease, and is not on it.
func (s *store) stray(lease int64) {
	s.rev++
	e := line.Entry{Key: line.Key{Lease: lease, Seq: s.rev << 20}, Create: s.rev, Mod: s.rev, Weight: 1}
	s.strays = append(s.strays, e)
	s.logged([]line.Change{asSeen(e)})
}

// asSeen returns a stray as who reads it sees it.
func asSeen(e line.Entry) line.Entry {
	const nobody = 0
	e.Weight = stores.Counts(e.Key, nobody, e.Weight)
	return e
}

// copy returns a copy of what a server has on its disk.
func (s *store) copy() *store {
	c := *s
	c.entries, c.log, c.strays = slices.Clone(s.entries), slices.Clone(s.log), slices.Clone(s.strays)
	c.leases, c.epochs = maps.Clone(s.leases), maps.Clone(s.epochs)
	return &c
}

func (s *store) state() line.State {
	st := line.State{Rev: s.rev, Size: s.size, SizeMod: s.sizeMod}
	for i := range s.entries {
		st.Entries = append(st.Entries, s.entries[i].Entry)
	}
	for _, e := range s.strays {
		if e = asSeen(e); e.Weight > 0 {
			st.Entries = append(st.Entries, e)
		}
	}
	st.Sort()
	return st
}
