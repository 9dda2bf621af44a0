package store

import (
	"cmp"
	"slices"
)

// A Key names an entry: the lease of the process that made it, and a number that the process uses
// once.
type Key struct{ Lease, Seq int64 }

// An Entry is a process's request for permits, or, where it holds, its block of them.
type Entry struct {
	Key
	Create int64 // the revision at which it was made: its place in the line
	Mod    int64 // the revision at which it was changed last
	Weight int64 // how many permits; falls, and rises only in a merge
}

// Counts returns the weight of an entry with the key k and such a value: none if it is not on the
// lease that the key names. It would outlive its process.
func Counts(k Key, lease, value int64) int64 {
	if lease != k.Lease {
		return 0
	}
	return value
}

// A State is the line of one semaphore as it was at one revision.
//
// An entry holds iff the weights up to it, with its own, sum to at most the size. So who holds is a
// function of the state. Entries come only at the end. Weights only fall, but for a merge: one
// entry takes over the weights of others behind it, that hold as well, and vanish. So the sum up to
// an entry never rises above what an entry had that held. An entry that holds goes on holding for
// as long as it exists, unless the size falls. That makes an old state safe to act upon: the
// entries of it that hold and exist still hold.
//
// If the size has fallen, entries that held then go on holding although they do not fit, and a
// state does not say which ones did. But they were made before the size was written last: from then
// on what holds fits, and goes on fitting.
type State struct {
	Rev     int64
	Size    int64
	SizeMod int64   // the revision at which the size was written last
	Entries []Entry // by Create
}

// Apply changes s to what it is at revision rev, by all changes that were made at that revision.
// Revisions up to s.Rev are part of s already, and Apply ignores them.
func (s *State) Apply(rev int64, changes ...Change) {
	if rev <= s.Rev {
		return
	}
	s.Rev = rev
	for _, c := range changes {
		i := s.index(c.Key)
		switch {
		case c.Key == SizeKey:
			s.Size, s.SizeMod = c.Weight, rev
		case c.Weight == 0 && i >= 0:
			s.Entries = slices.Delete(s.Entries, i, i+1)
		case c.Weight == 0:
		case i >= 0 && s.Entries[i].Create == c.Create:
			s.Entries[i] = c
		default:
			if i >= 0 {
				s.Entries = slices.Delete(s.Entries, i, i+1)
			}
			at, _ := slices.BinarySearchFunc(s.Entries, c, order)
			s.Entries = slices.Insert(s.Entries, at, c)
		}
	}
}

// A Change is an entry as a change has left it, with weight 0 if it is gone. With SizeKey it is the
// size.
type Change = Entry

// SizeKey is the key of the size in a Change. No process has the lease 0.
var SizeKey Key

func (s *State) index(k Key) int {
	return slices.IndexFunc(s.Entries, func(e Entry) bool { return e.Key == k })
}

// Sort puts the entries in order. Two of one transaction have one create revision: their keys
// decide.
func (s *State) Sort() { slices.SortFunc(s.Entries, order) }

func order(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Create, b.Create), cmp.Compare(a.Lease, b.Lease), cmp.Compare(a.Seq, b.Seq))
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	c := *s
	c.Entries = slices.Clone(s.Entries)
	return c
}

// Holding yields the entries and whether each holds, in order.
func (s *State) Holding(yield func(e *Entry, holds bool) bool) {
	var sum int64
	for i := range s.Entries {
		e := &s.Entries[i]
		sum = add(sum, e.Weight)
		if !yield(e, sum <= s.Size) {
			return
		}
	}
}

// add is a + b for numbers that are not negative, at most the largest one.
func add(a, b int64) int64 {
	if c := a + b; c >= 0 {
		return c
	}
	return 1<<63 - 1
}
