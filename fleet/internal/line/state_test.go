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
}
