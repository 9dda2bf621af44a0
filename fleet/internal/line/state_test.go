package line

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
	s := State{Size: Everyone, Entries: []Entry{
		{Key{7, 0}, 5, 5, 1<<63 - 1}, {Key{8, 0}, 6, 6, 1<<63 - 1}, {Key{9, 0}, 7, 7, 1},
	}}
	require.Empty(t, s.Holders())
}

func TestALongLineHasLongerTenures(t *testing.T) {
	s := State{Size: 4}
	for i := range int64(24) {
		s.Entries = append(s.Entries, Entry{Key{i + 1, 0}, i + 1, i + 1, 1})
	}
	require.EqualValues(t, 20, s.Tenure(20), "4 hold, and 20 wait")
	require.EqualValues(t, 0, s.Tenure(0))
	for i := range int64(20) {
		s.Entries = append(s.Entries, Entry{Key{i + 25, 0}, i + 25, i + 25, 1})
	}
	require.EqualValues(t, 40, s.Tenure(20), "40 wait")
	require.EqualValues(t, 0, s.Tenure(0), "each block is used once")
	require.Equal(t, Never/2, s.Tenure(Never/2), "a time to which another can be added")
	require.Equal(t, Never/2, s.Tenure(Never/300))
	s.Size = 100
	require.EqualValues(t, 20, s.Tenure(20), "nobody waits")
}
