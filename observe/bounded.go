package observe

import (
	"cmp"
	"slices"
)

// The most that pages read of a snapshot, in all formats: locks, and holders and waiters of all
// locks together.
const (
	maxReadLocks   = 1000
	maxReadRecords = 10_000
)

// bounded returns a snapshot with so much of s; what is missing has the least trouble, and is
// counted as dropped. The lock of the ID, if there is one, comes before all others. It does not
// change s.
func (s *Snapshot) bounded(id uint64, locks, records int) *Snapshot {
	all := 0
	for i := range s.Locks {
		all += len(s.Locks[i].Holders) + len(s.Locks[i].Waiters)
	}
	if len(s.Locks) <= locks && all <= records {
		return s
	}
	r := *s
	r.Locks = nil
	order := newView(s).Locks
	slices.SortStableFunc(order, func(a, b *lockView) int {
		switch id {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return 0
	})
	for _, l := range order[:min(len(order), locks)] {
		c := *l.Lock
		n := min(len(c.Holders), records)
		r.Dropped.Holders += uint64(len(c.Holders) - n)
		c.Holders = c.Holders[:n:n]
		records -= n
		n = min(len(c.Waiters), records)
		r.Dropped.Waiters += uint64(len(c.Waiters) - n)
		c.Waiters = c.Waiters[:n:n]
		c.Keys = c.Keys[:min(len(c.Keys), n)] // they are in the order of their first waiters
		records -= n
		r.Locks = append(r.Locks, c)
	}
	r.Dropped.Locks += uint64(len(order) - len(r.Locks))
	slices.SortFunc(r.Locks, func(a, b Lock) int { return cmp.Compare(a.ID, b.ID) })
	return &r
}

// only returns a snapshot of one lock with the reports that name it; of all if the ID is 0.
func (s *Snapshot) only(id uint64) *Snapshot {
	if id == 0 {
		return s
	}
	r := &Snapshot{At: s.At, Dropped: s.Dropped}
	r.Locks = keep(s.Locks, func(l Lock) bool { return l.ID == id })
	r.Deadlocks = keep(s.Deadlocks, func(d Deadlock) bool {
		return slices.ContainsFunc(d.Waits, func(b Blocked) bool { return b.LockID == id })
	})
	r.Suspicions = keep(s.Suspicions, func(x Suspicion) bool { return x.LockID == id })
	r.Leaks = keep(s.Leaks, func(l Leak) bool { return l.LockID == id })
	return r
}

// filled returns a snapshot whose lists are never nil, because null is no list in JSON.
func (s *Snapshot) filled() *Snapshot {
	r := *s
	fill(&r.Locks)
	fill(&r.Tasks)
	fill(&r.Panics)
	fill(&r.Deadlocks)
	fill(&r.Suspicions)
	fill(&r.Leaks)
	r.Locks = slices.Clone(r.Locks)
	for i := range r.Locks {
		l := &r.Locks[i]
		fill(&l.Holders)
		fill(&l.Waiters)
		fill(&l.Keys)
		fill(&l.Sites)
		fill(&l.Wait.Buckets)
		fill(&l.Hold.Buckets)
		if l.Fleet != nil {
			f := *l.Fleet
			fill(&f.Blocks)
			l.Fleet = &f
		}
	}
	return &r
}

func fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
