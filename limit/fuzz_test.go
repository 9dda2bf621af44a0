package limit_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/limit"
)

// FuzzControllers gives controllers with any bounds any samples.
func FuzzControllers(f *testing.F) {
	f.Add(int64(1), int64(100), int64(20), []byte{})
	f.Add(int64(1), int64(1<<62), int64(1<<61), []byte("0123456789abcdef0123456789abcdefgh"))
	f.Add(int64(0), int64(0), int64(0), make([]byte, 17*40))
	f.Fuzz(func(t *testing.T, lowest, highest, initial int64, samples []byte) {
		if lowest < 0 || highest < 0 || initial < 0 {
			t.Skip()
		}
		if highest > 0 {
			highest = max(highest, lowest)
			initial = max(lowest, min(highest, initial))
		}
		for name, c := range controllers(lowest, highest, initial) {
			first, usable := int64(0), true
			func() {
				defer func() { usable = recover() == nil }()
				first = c.Limit()
			}()
			if !usable {
				continue // contradictory: TestContradictoryFieldsPanic
			}
			within := func(n int64) {
				require.True(t, n >= max(1, min(lowest, first)) && (highest == 0 || n <= highest), "%s: %d", name, n)
			}
			within(first)
			highest := first
			for rest := samples; len(rest) >= 17; rest = rest[17:] {
				s := limit.Sample{
					RTT:      time.Duration(binary.LittleEndian.Uint64(rest)),
					InFlight: int64(binary.LittleEndian.Uint64(rest[8:])),
					Dropped:  rest[16]%2 == 1,
				}
				before := c.Limit()
				n := c.Update(s)
				within(n)
				require.Equal(t, n, c.Limit(), name)
				switch {
				case s.Dropped:
					require.LessOrEqual(t, n, before, "%s: %+v", name, s)
				case s.RTT <= 0:
					require.Equal(t, before, n, "%s: %+v", name, s)
				case n > before && (n > highest || name != "Vegas"): // which comes back from a measurement
					require.GreaterOrEqual(t, s.InFlight, before/2, "%s: %+v", name, s)
				}
				highest = max(highest, n)
			}
		}
	})
}
