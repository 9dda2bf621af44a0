// Package contractauth_test shows with a real server which role of etcd is enough for a fleet. What
// docs/guides/fleet.md says about authentication is tested here.
package contractauth_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded"
	"github.com/farad-go/farad/fleet/etcd"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait most of the time: for tokens and leases to end.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

const (
	namespace = "billing"
	user      = "worker"
	password  = "secret"
	patience  = 5 * time.Minute
)

// server starts an etcd with authentication, where user may read and write what begins with the
// namespace and a slash, and nothing else. It returns the client of the administrator.
func server(t testing.TB, options ...embedded.Option) (*embedded.Server, *clientv3.Client) {
	t.Helper()
	// A login costs the least processor time that there is: see "Authentication" of the guide.
	cheap := func(c *embed.Config) { c.BcryptCost = uint(bcrypt.MinCost) }
	s, err := embedded.Start("", append([]embedded.Option{cheap}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	c, err := s.Client()
	require.NoError(t, err)
	defer c.Close()
	grant(t, c, true)
	return s, login(t, s, "root", "root")
}

// grant makes the users, with passwords or without, and the role of the fleet, and has etcd check.
func grant(t testing.TB, c *clientv3.Client, passwords bool) {
	t.Helper()
	ctx := patient(t)
	add := func(user, password string) error {
		if passwords {
			_, err := c.UserAdd(ctx, user, password)
			return err
		}
		_, err := c.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
		return err
	}
	for _, do := range []func() error{
		func() error { return add("root", "root") },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "fleet"); return err },
		func() error {
			from := namespace + "/"
			_, err := c.RoleGrantPermission(ctx, "fleet", from, clientv3.GetPrefixRangeEnd(from),
				clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { return add(user, password) },
		func() error { _, err := c.UserGrantRole(ctx, user, "fleet"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		require.NoError(t, do())
	}
}

func login(t testing.TB, s *embedded.Server, user, password string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: s.Endpoints(), Username: user, Password: password, Logger: zap.NewNop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// join returns a process's membership, which is closed at the end of the test.
func join(t *testing.T, s *embedded.Server, options ...fleet.Option) *fleet.Fleet {
	t.Helper()
	return joinBy(t, login(t, s, user, password), options...)
}

// joinBy is join by a client. Without a TTL a membership outlives the pauses of a busy machine.
func joinBy(t *testing.T, client *clientv3.Client, options ...fleet.Option) *fleet.Fleet {
	t.Helper()
	options = slices.Insert(options, 0, fleet.WithTTL(patience))
	f, err := fleet.New(patient(t), etcd.New(client, namespace), options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, f.Close(ctx))
	})
	return f
}

func TestRoleOnThePrefixIsEnoughForEverything(t *testing.T) {
	t.Parallel()
	s, root := server(t)
	ctx := patient(t)
	one, two := join(t, s), join(t, s)

	a, err := one.Semaphore(ctx, "exports", 2)
	require.NoError(t, err)
	b, err := two.Semaphore(ctx, "exports", 2)
	require.NoError(t, err)
	p, err := a.AcquirePermit(ctx, 2)
	require.NoError(t, err)
	_, err = b.TryAcquirePermit(ctx, 1)
	require.ErrorIs(t, err, fleet.ErrBusy)
	got := make(chan error, 1)
	go func() { got <- b.Acquire(ctx, 2) }()
	require.Eventually(t, func() bool { return b.Waiting() == 1 }, patience, time.Millisecond)
	p.Release()
	require.NoError(t, <-got)
	b.Release(2)
	require.NoError(t, a.Resize(ctx, 3))
	require.NoError(t, b.Acquire(ctx, 3))
	b.Release(3)

	m, err := one.Mutex(ctx, "leader")
	require.NoError(t, err)
	p, err = m.Lock(ctx)
	require.NoError(t, err)
	p.Release()
	rw, err := two.RWMutex(ctx, "prices")
	require.NoError(t, err)
	p, err = rw.RLock(ctx)
	require.NoError(t, err)
	p.Release()

	// All that they have written begins with the namespace and a slash.
	all, err := root.Get(ctx, "", clientv3.WithPrefix())
	require.NoError(t, err)
	require.NotEmpty(t, all.Kvs)
	for _, kv := range all.Kvs {
		require.Regexp(t, "^"+namespace+"/", string(kv.Key))
	}
}

func TestRoleAllowsNothingElse(t *testing.T) {
	t.Parallel()
	s, _ := server(t)
	ctx := patient(t)
	for _, other := range []string{"other", namespace + "2", "bill"} {
		_, err := fleet.New(ctx, etcd.New(login(t, s, user, password), other))
		require.ErrorIs(t, err, rpctypes.ErrPermissionDenied, other)
	}
}

// A server forgets tokens of its own after a time; others end after a time. A client then logs in
// again by itself. So it does when somebody changes any user or role.
func TestPermitsOutliveTheTokensOfTheLogin(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("a key of at least 32 bytes, for tests only"), 0o600))
	for kind, configure := range map[string]embedded.Option{
		"simple": func(c *embed.Config) { c.AuthTokenTTL = 1 },
		"jwt": func(c *embed.Config) {
			c.AuthToken = "jwt,sign-method=HS256,ttl=1s,priv-key=" + key
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, root := server(t, configure)
			// A lease that is not renewed ends within a TTL. On a machine that stands still for so
			// long one that is renewed ends as well: then a longer one does not.
			ttl := 5 * time.Second
			for !outlives(t, s, root, ttl) {
				ttl *= 2
				require.Less(t, ttl, time.Minute, "the permit is lost")
			}
		})
	}
}

// outlives reports whether a permit is held for a TTL and longer, while tokens of the login end.
func outlives(t *testing.T, s *embedded.Server, root *clientv3.Client, ttl time.Duration) bool {
	t.Helper()
	ctx := patient(t)
	one, two := join(t, s, fleet.WithTTL(ttl)), join(t, s, fleet.WithTTL(patience))
	a, err := one.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	b, err := two.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	p, err := a.AcquirePermit(ctx, 1)
	require.NoError(t, err)
	defer p.Release()
	for i := range 3 {
		select {
		case <-p.Lost():
			return false
		case <-time.After(ttl * 2 / 5): // two tokens end
		}
		_, err = root.RoleAdd(ctx, fmt.Sprint("new-", ttl, i)) // makes all tokens old
		require.NoError(t, err)
	}
	got := make(chan error, 1)
	go func() { got <- b.Acquire(ctx, 1) }()
	require.Eventually(t, func() bool { return b.Waiting() == 1 || len(got) == 1 }, patience, time.Millisecond)
	held := p.Valid()
	p.Release() // only after one has seen that two waits does it get the permit
	require.NoError(t, <-got)
	b.Release(1)
	return held
}
