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
