//go:build linux

package chaos

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// stalls measures for how long this machine does nothing for us. Leases end in such a time, too.
func stalls(t *testing.T) (longest *atomic.Int64) {
	longest = new(atomic.Int64)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-tick.C:
				longest.Store(max(longest.Load(), int64(time.Since(last))))
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		watching.Wait()
	})
	return longest
}

// Thirty processes lose nothing while a follower hangs, although each asks it in its turn: for a
// minute, and ten under FARAD_STRESS. TestNobodyLosesWhileAMemberHangs has the same in virtual
// time.
func TestNobodyLosesWhileAFollowerHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("package fleet has it in virtual time")
	}
	t.Parallel()
	const processes, leaseLasts = 30, 5 * time.Second
	lasts := time.Minute
	if os.Getenv("FARAD_STRESS") != "" {
		lasts = 10 * time.Minute
	}
	c := startCluster(t, 3)
	leader, err := c.Leader(patient(t))
	require.NoError(t, err)
	longest := stalls(t)
	var permits []*fleet.Permit
	var locks []*fleet.Mutex
	for i := range processes {
		f, err := fleet.New(patient(t), etcd.New(connect(t, c.Endpoints()), namespace), fleet.WithTTL(leaseLasts))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close(patient(t))) })
		m := lock(t, f, fmt.Sprintf("own %d", i))
		p, err := m.Lock(patient(t))
		require.NoError(t, err)
		defer p.Release()
		permits = append(permits, p)
		locks = append(locks, lock(t, f, "everybody's"))
	}
	require.NoError(t, c.Pause((leader+1)%c.Len()))
	end := time.Now().Add(lasts)
	var users sync.WaitGroup
	var turns atomic.Int64
	for _, m := range locks { // other requests, which meet the follower now and then
		users.Go(func() {
			for time.Now().Before(end) {
				take(t, m)
				turns.Add(1)
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	users.Wait()
	lost := 0
	for _, p := range permits {
		if !p.Valid() {
			lost++
		}
	}
	t.Logf("%d of %d processes have lost their lease; %d turns; the machine stood still for %v at most",
		lost, processes, turns.Load(), time.Duration(longest.Load()))
	require.NoError(t, c.Resume((leader+1)%c.Len()))
	if lost > 0 && longest.Load() > int64(leaseLasts/10) {
		t.Skip("the machine stood still")
	}
	require.Zero(t, lost)
}

// Three processes far away from the members share a permit.
func TestProcessesFarAway(t *testing.T) {
	if testing.Short() {
		t.Skip("package fleet has it in virtual time")
	}
	t.Parallel()
	c := startCluster(t, 3)
	for _, trip := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond} {
		t.Run(trip.String(), func(t *testing.T) {
			end := time.Now().Add(10 * time.Second)
			var users sync.WaitGroup
			var turns atomic.Int64
			for range 3 {
				link, err := c.Link()
				require.NoError(t, err)
				link.Delay(trip)
				f, err := fleet.New(patient(t), etcd.New(connect(t, link.Endpoints()), namespace))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, f.Close(patient(t))) })
				m := lock(t, f, "far away")
				for range 8 {
					users.Go(func() {
						for time.Now().Before(end) {
							p, err := m.Lock(patient(t))
							if err != nil {
								t.Error(err)
								return
							}
							time.Sleep(time.Millisecond)
							p.Release()
							turns.Add(1)
						}
					})
				}
			}
			users.Wait()
			t.Logf("%.1f acquires in a round trip", float64(turns.Load())/10*trip.Seconds())
			require.Positive(t, turns.Load())
		})
	}
}
