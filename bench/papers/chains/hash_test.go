package chains

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	slots = 4096
	base  = 0xc000100000
)

// visits returns how many slots a semaphore's first tickets fill.
func visits(h Hash, semaphore uint64, tickets uint64) int {
	seen := map[uint64]bool{}
	for t := range tickets {
		seen[h(semaphore, t)%slots] = true
	}
	return len(seen)
}

// Tickets visit every slot of the array before one of them returns to the first.
func TestTicketsGoEverywhere(t *testing.T) {
	for _, semaphore := range []uint64{1, base, base + 64} {
		require.Equal(t, slots, visits(Ticket, semaphore, slots))
		require.Equal(t, slots, visits(Orbit, semaphore, slots))
		require.Equal(t, slots, visits(Gray, semaphore, slots))
		require.Equal(t, slots/2, visits(Pairs, semaphore, slots))
		require.Equal(t, slots, visits(Pairs, semaphore, 2*slots))
	}
	require.Equal(t, slots/64, visits(Product, base+64, slots), "an address's zeros are the slots' too")
	require.Equal(t, slots, visits(Product, 1, slots))
}

// Neighbours are at least a line of eight-byte slots apart, except with Pairs.
func TestNeighboursAreApart(t *testing.T) {
	for _, h := range []Hash{Ticket, Orbit, Gray} {
		for x := range uint64(slots - 1) {
			a, b := h(base, x)%slots, h(base, x+1)%slots
			require.GreaterOrEqual(t, min((a-b)%slots, (b-a)%slots), uint64(8), "ticket %d", x)
		}
	}
	require.Equal(t, Gray(base, slots-1)%slots, Gray(base, slots)%slots, "the bit that differs is beyond the array")
	for x := uint64(0); x < slots; x += 2 {
		require.Equal(t, Pairs(base, x), Pairs(base, x+1))
		require.NotEqual(t, Pairs(base, x+1), Pairs(base, x+2))
	}
}

// A ticket is in the same page as the one before, except one ticket in 256.
func TestOrbitStaysOnItsPage(t *testing.T) {
	turns := 0
	for x := range uint64(slots) {
		if Orbit(base, x)>>orbit != Orbit(base, x+1)>>orbit {
			turns++
			require.Zero(t, (x+1)%(1<<orbit))
		}
	}
	require.Equal(t, slots>>orbit, turns)
}

// The values of the paper's function, and that of parking.Table.
func TestKnownHashes(t *testing.T) {
	require.Equal(t, uint64(base+17*5), Ticket(base, 5))
	require.Equal(t, uint64(base+17*(5^2)), Gray(base, 5))
	require.Equal(t, uint64(base*5), Product(base, 5))
	require.Zero(t, Mix32A(0))
	require.Equal(t, Mix32A(1), Mix32A(1<<32+1), "the lower 32 bits")
	three := uint64(3)
	h := three*0x9E3779B97F4A7C15 + 17*5
	require.Equal(t, h>>32^h, Golden(3, 5))
}

// Mix32A is one to one: it can be undone.
func TestMix32ALosesNothing(t *testing.T) {
	inverse := uint32(1)
	for range 5 { // Newton's
		inverse *= 2 - 0x9abe94e3*inverse
	}
	for a := uint64(1); a < 1<<32; a *= 3 {
		v := uint32(Mix32A(a))
		v ^= v >> 16
		v *= inverse
		v ^= v >> 16
		v *= inverse
		v ^= v >> 16
		require.Equal(t, uint32(a), v)
	}
}
