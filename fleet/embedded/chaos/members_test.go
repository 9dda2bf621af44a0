//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

// A fault begins, waits until it has had its effect, and ends.
type fault struct {
	name string
	do   func(r *run)
}

// Faults of one member. The others serve everybody meanwhile.
var memberFaults = []fault{
	{"a member killed", func(r *run) {
		i := r.anyMember()
		require.NoError(r, r.cluster.Kill(i))
		r.allServed("while a member is dead")
		require.NoError(r, r.cluster.Restart(patient(r.T), i))
	}},
	{"the leader killed", func(r *run) {
		i := r.leader()
		require.NoError(r, r.cluster.Kill(i))
		r.allServed("without the old leader")
		require.NoError(r, r.cluster.Restart(patient(r.T), i))
	}},
	{"the leader moved", func(r *run) {
		require.NoError(r, r.cluster.MoveLeader(patient(r.T), (r.leader()+1)%r.cluster.Len()))
	}},
	{"a member paused", func(r *run) {
		i := r.anyMember()
		require.NoError(r, r.cluster.Pause(i))
		r.allServed("while a member is paused")
		require.NoError(r, r.cluster.Resume(i))
	}},
}

// A member that is cut off takes requests that it does not answer.
var partitions = []fault{
	{"a member cut off from its peers", func(r *run) {
		r.cluster.Partition(r.anyMember(), cluster.Peers)
		r.allServed("while a member is cut off from its peers")
		r.cluster.Heal()
	}},
	{"the leader cut off from its peers", func(r *run) {
		r.cluster.Partition(r.leader(), cluster.Peers)
		r.allServed("while the old leader is cut off from its peers")
		r.cluster.Heal()
	}},
	{"a member cut off from clients", func(r *run) {
		r.cluster.Partition(r.anyMember(), cluster.Clients)
		r.allServed("while a member is cut off from clients")
		r.cluster.Heal()
	}},
	{"the leader cut off from clients", func(r *run) {
		r.cluster.Partition(r.leader(), cluster.Clients)
		r.allServed("while the leader is cut off from clients")
		r.cluster.Heal()
	}},
}

// Faults that leave nobody, or not everybody, to be served.
var quorumFaults = []fault{
	{"two members killed", func(r *run) {
		i := r.anyMember()
		require.NoError(r, r.cluster.Kill(i))
		require.NoError(r, r.cluster.Kill((i+1)%3))
		r.stuck()
		require.NoError(r, r.cluster.Restart(patient(r.T), i))
		require.NoError(r, r.cluster.Restart(patient(r.T), (i+1)%3))
	}},
	{"two members paused", func(r *run) {
		i := r.anyMember()
		require.NoError(r, r.cluster.Pause(i))
		require.NoError(r, r.cluster.Pause((i+1)%3))
		r.stuck()
		require.NoError(r, r.cluster.Resume(i))
		require.NoError(r, r.cluster.Resume((i+1)%3))
	}},
	{"all members cut off from each other", func(r *run) {
		for i := range r.cluster.Len() {
			r.cluster.Partition(i, cluster.Peers)
		}
		r.stuck()
		r.cluster.Heal()
	}},
	{"a worker cut off", func(r *run) {
		w := r.anyWorker()
		op, trap := r.resource.catch(w.id, r.anyLock())
		close(trap.open)
		w.link.Cut()
		await(r.T, "another has the permits", func() bool { return r.resource.superseded(op) })
		w.link.Heal()
	}},
}

func (r *run) leader() int {
	i, err := r.cluster.Leader(patient(r.T))
	require.NoError(r, err)
	return i
}

// stuck waits until nobody gets anything any more, and sees that it stays so.
func (r *run) stuck() {
	entered := func() (n int) {
		for _, w := range r.workers {
			for _, l := range r.locks {
				n += r.resource.entered(w.id, l)
			}
		}
		return n
	}
	began := time.Now()
	for last := -1; last != entered(); {
		require.Less(r, time.Since(began), patience, "they go on without a majority")
		last = entered()
		time.Sleep(ttl)
	}
	last := entered()
	time.Sleep(ttl)
	require.Equal(r, last, entered(), "without a majority")
}

func TestMembersFail(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one, several, mutex, rwMutex)
	r.fail(memberFaults)
	r.finish(calm)
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one, several, mutex, rwMutex)
	r.fail(partitions)
	r.finish(calm)
}

func TestNobodyIsServedWithoutAMajority(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one, several, mutex, rwMutex)
	r.fail(quorumFaults)
	r.finish(calm)
}

// fail has the faults happen in a random order. All are served after each.
func (r *run) fail(faults []fault) {
	for _, i := range r.random.Perm(len(faults)) {
		began := time.Now()
		faults[i].do(r)
		r.Logf("%7.3f s: %s", time.Since(began).Seconds(), faults[i].name)
		r.allServed("after " + faults[i].name)
	}
}
