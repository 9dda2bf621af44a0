package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A state does not say which of the entries that do not fit held before the size fell.
func TestWhoMayHaveHeldWhenTheSizeFellIsNamed(t *testing.T) {
	s := State{Rev: 7, Size: 4, SizeMod: 1, Entries: []Entry{
		{Key{9, 0}, 5, 5, 2}, {Key{8, 0}, 6, 6, 2}, {Key{7, 0}, 7, 7, 1},
	}}
	require.Equal(t, []int64{8, 9}, s.Holders(), "lease 7 waits, and has never held")
	s.Apply(8, Change{Weight: 2})
	s.Apply(9, Entry{Key{6, 0}, 9, 9, 1})
	require.Equal(t, []int64{7, 8, 9}, s.Holders(), "lease 8 held at 7, and lease 6 cannot have")
	s.Apply(10, Change{Key: Key{8, 0}}, Change{Key: Key{9, 0}})
	require.Equal(t, []int64{6, 7}, s.Holders())
	s.Apply(11, Change{Weight: 1}, Entry{Key{5, 0}, 11, 11, 1})
	require.Equal(t, []int64{6, 7}, s.Holders(), "lease 5 came with the size")
}

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
	require.Empty(t, s.Holders())
}
