package line

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALongLineHasLongerTenures(t *testing.T) {
	s := State{Size: 4}
	for i := range int64(24) {
		s.Entries = append(s.Entries, entry(i+1, 0, i+1, i+1, 1))
	}
	require.EqualValues(t, 20, Tenure(&s, 20), "4 hold, and 20 wait")
	require.EqualValues(t, 0, Tenure(&s, 0))
	for i := range int64(20) {
		s.Entries = append(s.Entries, entry(i+25, 0, i+25, i+25, 1))
	}
	require.EqualValues(t, 40, Tenure(&s, 20), "40 wait")
	require.EqualValues(t, 0, Tenure(&s, 0), "each block is used once")
	require.Equal(t, Never/2, Tenure(&s, Never/2), "a time to which another can be added")
	require.Equal(t, Never/2, Tenure(&s, Never/300))
	s.Size = 100
	require.EqualValues(t, 20, Tenure(&s, 20), "nobody waits")
}

func key(lease, seq int64) Key { return Key{Lease: lease, Seq: seq} }

func entry(lease, seq, create, mod, weight int64) Entry {
	return Entry{Key: key(lease, seq), Create: create, Mod: mod, Weight: weight}
}

func op(lease, seq, mod, weight int64) Op { return Op{Key: key(lease, seq), Mod: mod, Weight: weight} }

// A state does not say which of the entries that do not fit held before the size fell.
func TestWhoMayHaveHeldWhenTheSizeFellIsNamed(t *testing.T) {
	s := State{Rev: 7, Size: 4, SizeMod: 1, Entries: []Entry{
		entry(9, 0, 5, 5, 2), entry(8, 0, 6, 6, 2), entry(7, 0, 7, 7, 1),
	}}
	require.Equal(t, []int64{8, 9}, holders(&s), "lease 7 waits, and has never held")
	s.Apply(8, Change{Weight: 2})
	s.Apply(9, entry(6, 0, 9, 9, 1))
	require.Equal(t, []int64{7, 8, 9}, holders(&s), "lease 8 held at 7, and lease 6 cannot have")
	s.Apply(10, Change{Key: key(8, 0)}, Change{Key: key(9, 0)})
	require.Equal(t, []int64{6, 7}, holders(&s))
	s.Apply(11, Change{Weight: 1}, entry(5, 0, 11, 11, 1))
	require.Equal(t, []int64{6, 7}, holders(&s), "lease 5 came with the size")
}
