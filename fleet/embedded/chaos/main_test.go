//go:build linux

// Package chaos tests package fleet with real clusters of three members, of which something fails.
//
// Worker processes share locks and act on a resource in the test's process, which knows who is
// inside. A fault lasts until a state is reached, never for a time: so the speed of the machine
// does not decide on the outcome. The faults and their outcomes are in docs/design/fleet.md.
package chaos

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

const (
	// ttl is the least that a server with an election timeout of a second grants.
	ttl    = 2 * time.Second
	margin = ttl / 5 // as in package fleet

	patience = 4 * time.Minute // for what must happen
)

var (
	seed  = flag.Uint64("seed", 0, "of the random faults; 0: another one each time")
	lasts = flag.Duration("for", 0, "how long random faults go on; 0: for a few, or ten minutes under FARAD_STRESS")
)

func TestMain(m *testing.M) {
	cluster.Main()
	child.Main(workerRole, runWorker)
	flag.Parse()
	// The tests wait most of the time: for leases to end, and for elections.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// stress returns for how long random faults go on, 0 for a few of them.
func stress() time.Duration {
	switch {
	case *lasts > 0:
		return *lasts
	case os.Getenv("FARAD_STRESS") != "":
		return 10 * time.Minute
	}
	return 0
}

// random returns a source of random numbers and prints its seed.
func random(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// now is the same clock in all processes of the machine, and is never set.
func now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await waits for a state.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, 2*time.Millisecond, what)
}

func startCluster(t *testing.T, members int, options ...cluster.Option) *cluster.Cluster {
	c, err := cluster.Start(patient(t), members, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
