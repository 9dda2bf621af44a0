package engine

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
)

// What internal/proof shows of the word, for every value, is of this word: the shift is the same,
// and at the ends of the range the code reads, takes and gives as the bit-vectors do.
func TestWordIsTheProvedOne(t *testing.T) {
	require.EqualValues(t, proof.PermitShift, permitShift)
	require.EqualValues(t, 1<<permitShift-1, flags)
	for _, base := range []int64{0, 1, MaxPermits} {
		for _, avail := range []int64{-MaxPermits, -1, 0, 1, MaxPermits} {
			for f := range int64(flags + 1) {
				e := new(Engine).From(base)
				o := State((avail-base)<<permitShift | f)
				require.Equal(t, avail, e.free(o))
				require.EqualValues(t, f, o&flags)
				for _, to := range []int64{-MaxPermits, 0, MaxPermits} {
					for _, change := range []func(n int64) bool{
						func(n int64) bool { return e.Give(o, n) },
						func(n int64) bool { return e.Take(o, -n) },
					} {
						n := to - avail
						e.word.Store(int64(o))
						require.True(t, change(n))
						require.Equal(t, to, e.free(e.Look()))
						require.EqualValues(t, f, e.Look()&flags)
					}
				}
			}
		}
	}
}

// What is shown of the kinds of holders is of these shares: where they begin and end the bits are
// read as there.
func TestKindsAreTheProvedOnes(t *testing.T) {
	require.EqualValues(t, int64(proof.RWHiding), hiding)
	require.EqualValues(t, int64(proof.RWUpgradable), Upgradable)
	require.EqualValues(t, int64(proof.RWEveryone), Everyone)
	for _, up := range []int64{0, Upgradable} {
		for _, bias := range []int64{0, hiding} {
			for _, n := range []int64{0, 1, hiding - 3} {
				h := up + bias + n
				o := State(-h << permitShift)
				require.Equal(t, h, o.heldRW())
				require.Equal(t, bias != 0, o.isBiased())
				require.Equal(t, up != 0, o.isUpgradable())
				require.Equal(t, n != 0, legalRW(h, Reader))
				require.Equal(t, up != 0, legalRW(h, Upgradable))
				require.Equal(t, up != 0, legalRW(h, Upgradable-Reader))
				require.False(t, legalRW(h, Everyone) || legalRW(h, Everyone-Reader) || legalRW(h, Everyone-Upgradable))
			}
		}
	}
	for _, n := range []int64{Reader, Upgradable, Upgradable - Reader} {
		require.False(t, legalRW(Everyone, n))
	}
	require.False(t, State(-Everyone<<permitShift).isBiased())
}
