package contractauth_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// allow makes what the role of the fleet may do to the keys with a prefix all that it may do.
func allow(t *testing.T, root *clientv3.Client, prefix string, kind clientv3.PermissionType) {
	t.Helper()
	ctx := patient(t)
	r, err := root.RoleGet(ctx, "fleet")
	require.NoError(t, err)
	for _, p := range r.Perm {
		_, err := root.RoleRevokePermission(ctx, "fleet", string(p.Key), string(p.RangeEnd))
		require.NoError(t, err)
	}
	_, err = root.RoleGrantPermission(ctx, "fleet", prefix, clientv3.GetPrefixRangeEnd(prefix), kind)
	require.NoError(t, err)
}

const (
	all   = namespace + "/"
	write = clientv3.PermissionType(clientv3.PermReadWrite)
	read  = clientv3.PermissionType(clientv3.PermRead)
)

// A wait for what etcd refuses ends with etcd's error. What is held stays held, and
// once etcd allows it again all goes on.
func TestRefusedRequestsEnd(t *testing.T) {
	t.Parallel()
	for prefix, tooLarge := range map[string]error{ // what it may read, and so what it learns
		all:          fleet.ErrTooLarge,
		"elsewhere/": rpctypes.ErrPermissionDenied,
	} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			s, root := server(t)
			ctx := patient(t)
			f := join(t, s)
			sem, err := f.Semaphore(ctx, "exports", 3)
			require.NoError(t, err)
			p, err := sem.AcquirePermit(ctx, 1)
			require.NoError(t, err)
			allow(t, root, prefix, read)

			waits := make(chan error, 1)
			go func() { waits <- sem.Acquire(ctx, 2) }()
			require.ErrorIs(t, sem.AcquireTimeout(patience, 1), rpctypes.ErrPermissionDenied)
			require.ErrorIs(t, <-waits, rpctypes.ErrPermissionDenied)
			_, err = sem.TryAcquirePermit(ctx, 1)
			require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
			require.ErrorIs(t, sem.Acquire(ctx, 4), tooLarge)
			var future fleet.Future
			sem.Bind(&future, 1)
			<-future.Done()
			require.ErrorIs(t, future.Err(), rpctypes.ErrPermissionDenied)
			future.Release()
			require.ErrorIs(t, sem.Resize(ctx, 5), rpctypes.ErrPermissionDenied)
			_, err = f.Semaphore(ctx, "new", 1)
			require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)

			require.True(t, p.Valid())
			p.Release()
			require.True(t, sem.TryAcquire(1), "what the process has it hands on")
			sem.Release(1)
			require.Zero(t, sem.Waiting())

			allow(t, root, all, write)
			require.Eventually(t, func() bool { return sem.Acquire(ctx, 3) == nil }, patience, time.Millisecond)
			status, err := f.Status(ctx)
			require.NoError(t, err)
			require.Empty(t, status[0].Refused)
			sem.Release(3)
			sem.Bind(&future, 3)
			<-future.Done()
			require.NoError(t, future.Err())
			future.Release()
			require.ErrorIs(t, sem.Acquire(ctx, 4), fleet.ErrTooLarge)
		})
	}
}

// What cannot be returned because etcd refuses it does not keep Close, and Status reports it.
func TestRefusedReturns(t *testing.T) {
	t.Parallel()
	s, root := server(t)
	ctx := patient(t)
	one, err := fleet.New(ctx, etcd.New(login(t, s, user, password), namespace), fleet.WithTTL(patience))
	require.NoError(t, err)
	a, err := one.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	p, err := a.AcquirePermit(ctx, 1)
	require.NoError(t, err)

	two := join(t, s)
	b, err := two.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() { got <- b.Acquire(ctx, 1) }()
	require.Eventually(t, func() bool { return len(blocks(t, one)) == 2 }, patience, time.Millisecond)
	allow(t, root, all, read)
	p.Release() // is refused
	require.Eventually(t, func() bool {
		st, err := one.Status(ctx)
		require.NoError(t, err)
		return st[0].Refused != ""
	}, patience, time.Millisecond)

	require.ErrorIs(t, one.Close(ctx), rpctypes.ErrPermissionDenied)
	_, err = root.Revoke(ctx, clientv3.LeaseID(p.Token().Lease))
	require.NoError(t, err)
	require.NoError(t, <-got, "the lease has ended")
	allow(t, root, all, write)
	b.Release(1)
}

func blocks(t *testing.T, f *fleet.Fleet) []fleet.Block {
	t.Helper()
	st, err := f.Status(patient(t))
	require.NoError(t, err)
	return st[0].Blocks
}

// counted counts leases.
type counted struct {
	clientv3.Lease
	grants atomic.Int64
}

func (c *counted) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	c.grants.Add(1)
	return c.Lease.Grant(ctx, ttl)
}

// A process that may not say that it is a member gets no lease, now and then asks for one, and
// leaves none behind.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	s, root := server(t)
	ctx := patient(t)
	client := login(t, s, user, password)
	leases := &counted{Lease: client.Lease}
	client.Lease = leases
	const ttl = 2 * time.Second
	f, err := fleet.New(ctx, etcd.New(client, namespace), fleet.WithTTL(ttl))
	require.NoError(t, err)
	defer f.Close(ctx)
	sem, err := f.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	p, err := sem.AcquirePermit(ctx, 1)
	require.NoError(t, err)

	allow(t, root, namespace+"/semaphore/", write) // and not member/
	_, err = fleet.New(ctx, etcd.New(login(t, s, user, password), namespace))
	require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
	require.ErrorContains(t, err, namespace+"/member/")

	_, err = root.Revoke(ctx, clientv3.LeaseID(p.Token().Lease))
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) { // it ends while the machine is busy, too
		require.NoError(t, err)
	}
	<-p.Lost()
	p.Release()
	leases.grants.Store(0)
	began := time.Now()
	for range 4 {
		require.ErrorIs(t, sem.Acquire(ctx, 1), rpctypes.ErrPermissionDenied)
	}
	time.Sleep(ttl) // nobody waits
	most := int64(time.Since(began)/(ttl/4)) + 2
	require.LessOrEqual(t, leases.grants.Load(), most, "it asks only now and then")
	require.Eventually(t, func() bool {
		r, err := root.Leases(ctx)
		require.NoError(t, err)
		return len(r.Leases) == 0
	}, patience, time.Millisecond, "leases are left")
	allow(t, root, all, write)
	require.Eventually(t, func() bool { return sem.Acquire(ctx, 1) == nil }, patience, time.Millisecond)
	sem.Release(1)
}

// A password that is not what it was, and authentication where there was none, are refusals, too.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	s, root := server(t)
	ctx := patient(t)
	_, err := root.AuthDisable(ctx)
	require.NoError(t, err)
	client, err := s.Client()
	require.NoError(t, err)
	defer client.Close()
	f, err := fleet.New(ctx, etcd.New(client, namespace))
	require.NoError(t, err)
	open, err := f.Semaphore(ctx, "open", 1)
	require.NoError(t, err)
	_, err = root.AuthEnable(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, open.Acquire(ctx, 1), rpctypes.ErrUserEmpty)
	_ = f.Close(ctx) // it may not even revoke its lease

	f, err = fleet.New(ctx, etcd.New(login(t, s, user, password), namespace))
	require.NoError(t, err)
	sem, err := f.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	_, err = root.UserChangePassword(ctx, user, "another")
	require.NoError(t, err)
	require.ErrorIs(t, sem.Acquire(ctx, 1), rpctypes.ErrAuthFailed)
	_, err = root.UserChangePassword(ctx, user, password)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return sem.Acquire(ctx, 1) == nil }, patience, time.Millisecond)
	sem.Release(1)
	require.NoError(t, f.Close(ctx))
}
