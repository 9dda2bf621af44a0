package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a watch delivers may be part of a state that was read since.
func TestAnOldRevisionIsPartOfTheState(t *testing.T) {
	s := State{Rev: 7, Size: 1, SizeMod: 1, Entries: []Entry{{Key{7, 0}, 5, 7, 1}}}
	before := s.Clone()
	s.Apply(6, Entry{Key{8, 0}, 6, 6, 1}) // it was deleted at 7
	s.Apply(7, Entry{Key{7, 0}, 5, 7, 1}, Change{Key: Key{8, 0}})
	require.Equal(t, before, s)
	s.Apply(8, Entry{Key{7, 1}, 8, 8, 1}, Entry{Key{6, 0}, 8, 8, 1})
	require.Equal(t, State{Rev: 8, Size: 1, SizeMod: 1, Entries: []Entry{
		{Key{7, 0}, 5, 7, 1}, {Key{6, 0}, 8, 8, 1}, {Key{7, 1}, 8, 8, 1},
	}}, s, "those of one transaction are in the order of their keys")
	s.Apply(9, Change{Key: Key{7, 1}}, Change{Key: Key{9, 9}})
	require.Len(t, s.Entries, 2, "what was not there can go")
}

func TestSumsHaveNoEnd(t *testing.T) {
	s := State{Size: 1 << 30, Entries: []Entry{
		{Key{7, 0}, 5, 5, 1<<63 - 1}, {Key{8, 0}, 6, 6, 1<<63 - 1}, {Key{9, 0}, 7, 7, 1},
	}}
	for e, holds := range s.Holding {
		require.False(t, holds, "lease %d", e.Lease)
	}
}
