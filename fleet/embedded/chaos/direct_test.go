//go:build linux

package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
	"github.com/farad-go/farad/fleet/etcd"
)

// tries is for tests that fail if the machine is too busy to renew a lease in time.
const tries = 10

// connect returns a client that is closed at the end.
func connect(t *testing.T, endpoints []string) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// member joins the fleet from this process.
func member(t *testing.T, endpoints []string) *fleet.Fleet {
	return memberOf(t, connect(t, endpoints))
}

func memberOf(t *testing.T, client *clientv3.Client) *fleet.Fleet {
	ctx, s := patient(t), etcd.New(client, namespace)
	f, err := fleet.New(ctx, s, fleet.WithTTL(ttl))
	for err != nil && strings.Contains(err.Error(), "too long for a TTL") { // on a machine that stood still
		f, err = fleet.New(ctx, s, fleet.WithTTL(ttl))
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, f.Close(ctx))
	})
	return f
}

func lock(t *testing.T, f *fleet.Fleet, name string) *fleet.Mutex {
	m, err := f.Mutex(patient(t), name)
	require.NoError(t, err)
	return m
}

// take locks m and unlocks it again.
func take(t *testing.T, m *fleet.Mutex) {
	t.Helper()
	p, err := m.Lock(patient(t))
	require.NoError(t, err)
	p.Release()
}

// A holder that is cut off knows that it has lost the permits before another one has them, whenever
// it was cut off.
func TestLossIsKnownFirst(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	phases := 10
	if testing.Short() {
		phases = 3
	}
	longest := stalls(t)
	var running sync.WaitGroup
	for i := range phases {
		link, err := c.Link()
		require.NoError(t, err)
		name := fmt.Sprintf("phase %d", i)
		held, waiting := lock(t, member(t, link.Endpoints()), name), lock(t, member(t, c.Endpoints()), name)
		p, err := held.Lock(patient(t))
		require.NoError(t, err)
		running.Go(func() {
			defer p.Release()
			time.Sleep(ttl / 3 * time.Duration(i) / time.Duration(phases)) // between two renewals
			link.Cut()
			lost := make(chan time.Duration, 1)
			go func() {
				<-p.Lost()
				lost <- now()
			}()
			next, err := waiting.Lock(patient(t))
			if err != nil {
				t.Error(err)
				return
			}
			at, valid := now(), p.Valid()
			lead := at - <-lost
			next.Release()
			link.Heal()
			t.Logf("%s: known %.3f s before", name, lead.Seconds())
			// A fifth of a lease lies between. If the machine stands still, who notices the loss
			// may run later than who gets the lock.
			late := time.Duration(longest.Load()) > ttl/10
			if valid || lead <= 0 && !late {
				t.Errorf("%s: valid: %v; known %v before another has it", name, valid, lead)
			}
		})
	}
	running.Wait()
}

// Without a majority a process goes on with what it has, until its lease could end.
func TestLocalPermitsWithoutAMajority(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	var both []*fleet.Semaphore
	for range 2 {
		s, err := member(t, c.Endpoints()).Semaphore(patient(t), "s", 1)
		require.NoError(t, err)
		both = append(both, s)
	}
	use := func(s *fleet.Semaphore) {
		require.NoError(t, s.Acquire(patient(t), 1))
		s.Release(1)
	}
	local := 0
	for i := 0; i < tries && local == 0; i++ {
		use(both[0])
		require.NoError(t, c.Pause(0))
		require.NoError(t, c.Pause(1))
		for ; both[0].TryAcquire(1); local++ {
			both[0].Release(1)
			time.Sleep(time.Millisecond)
		}
		for _, s := range both {
			require.ErrorIs(t, s.AcquireTimeout(ttl, 1), context.DeadlineExceeded)
		}
		require.NoError(t, c.Resume(0))
		require.NoError(t, c.Resume(1))
	}
	require.NotZero(t, local)
	t.Logf("%d times without a majority", local)
	for _, s := range both {
		use(s)
	}
}

// What happened while a process was cut off is not there any more.
func TestCompactedWhileCutOff(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	link, err := c.Link()
	require.NoError(t, err)
	client := connect(t, c.Endpoints())
	a, b := lock(t, member(t, link.Endpoints()), "m"), lock(t, member(t, c.Endpoints()), "m")
	for range 3 {
		take(t, a)
		link.Cut()
		take(t, b) // when the lease of a has ended
		take(t, b)
		r, err := client.Put(patient(t), "elsewhere", "")
		require.NoError(t, err)
		_, err = client.Compact(patient(t), r.Header.GetRevision(), clientv3.WithCompactPhysical())
		require.NoError(t, err)
		link.Heal()
		take(t, a)
		if testing.Short() {
			break
		}
	}
}

// Servers that have no space let nobody queue. What is held stays held and can be returned.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	client := connect(t, c.Endpoints())
	a, b := lock(t, member(t, c.Endpoints()), "m"), lock(t, member(t, c.Endpoints()), "m")
	status, err := client.Status(patient(t), c.Endpoints()[0])
	require.NoError(t, err)
	servers := etcdserverpb.NewMaintenanceClient(client.ActiveConnection())
	renewed := false
	for i := 0; i < tries && !renewed; i++ {
		p, err := a.Lock(patient(t))
		require.NoError(t, err)
		_, err = servers.Alarm(patient(t), &etcdserverpb.AlarmRequest{
			Action: etcdserverpb.AlarmRequest_ACTIVATE,
			Alarm:  etcdserverpb.AlarmType_NOSPACE, MemberID: status.Header.MemberId,
		})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(patient(t), ttl+time.Second)
		_, err = b.Lock(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		renewed = p.Valid()
		p.Release()
		_, err = client.AlarmDisarm(patient(t), &clientv3.AlarmMember{
			MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_NOSPACE,
		})
		require.NoError(t, err)
	}
	require.True(t, renewed)
	take(t, b)
	take(t, a)
}

// A member ends when it cannot write. The others go on, and it comes back when there is space.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "m0")
	require.NoError(t, os.Mkdir(disk, 0o700))
	if err := unix.Mount("farad", disk, "tmpfs", 0, "size=32m,mode=700"); err != nil {
		t.Skip("a small disk cannot be had: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
	c := startCluster(t, 3, cluster.WithDir(dir))
	client := connect(t, c.Endpoints()[1:])
	a, b := lock(t, member(t, c.Endpoints()), "m"), lock(t, member(t, c.Endpoints()), "m")
	take(t, a)

	rubbish := filepath.Join(disk, "rubbish")
	file, err := os.Create(rubbish)
	require.NoError(t, err)
	for err == nil {
		_, err = file.Write(make([]byte, 64<<10))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, file.Close())
	await(t, "the member ends", func() bool {
		// It fails if the member leads: its end costs the request that is under way.
		_, _ = client.Put(patient(t), "elsewhere", strings.Repeat("x", 256<<10))
		ctx, cancel := context.WithTimeout(patient(t), time.Second)
		defer cancel()
		_, err := client.Status(ctx, c.Endpoints()[0])
		return err != nil
	})
	take(t, b)
	take(t, a)
	require.NoError(t, os.Remove(rubbish))
	require.NoError(t, c.Restart(patient(t), 0))
	take(t, b)
	require.NoError(t, c.Kill(1)) // the majority is with the one that has come back
	take(t, a)
	take(t, b)
}

// Two processes of one machine with one name are two, even inside one.
func TestTwoProcessesOfOneName(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	client := connect(t, c.Endpoints())
	var locks []*fleet.Mutex
	for range 2 {
		locks = append(locks, lock(t, memberOf(t, client), "m"))
	}
	p, err := locks[0].Lock(patient(t))
	require.NoError(t, err)
	q, err := locks[1].TryLock(patient(t))
	if err == nil { // the first has lost it on a machine that stood still
		require.False(t, p.Valid())
		q.Release()
	} else {
		require.ErrorIs(t, err, fleet.ErrBusy)
	}
	p.Release()
	q, err = locks[1].Lock(patient(t))
	require.NoError(t, err)
	require.NotEqual(t, p.Token().Lease, q.Token().Lease)
	q.Release()
}
