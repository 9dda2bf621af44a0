package contractauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	prefixed "go.etcd.io/etcd/client/v3/namespace"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded"
	"github.com/farad-go/farad/fleet/etcd"
)

// An authority issues certificates, for the length of a test.
type authority struct {
	*testing.T
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

const host = "etcd.test" // the name of the server, and of its socket: a client takes it for the former

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("authority", &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// issue makes a certificate, which the first one signs itself, and leaves it and its key in files.
func (a *authority) issue(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	a.serial++
	c.SerialNumber, c.Subject = big.NewInt(a.serial), pkix.Name{CommonName: name}
	c.NotBefore = time.Now().Add(-time.Hour)
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(a, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a, err)
	a.write(name+".crt", "CERTIFICATE", der)
	a.write(name+".key", "PRIVATE KEY", raw)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a, err)
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	a.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	require.NoError(a, os.WriteFile(a.file(name), text, 0o600))
}

// client returns the configuration of a client with a certificate of that name.
func (a *authority) client(name string) *tls.Config {
	a.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{a.pair(name, time.Hour)}}
}

// pair issues a client's certificate of that name, which ends after so long.
func (a *authority) pair(name string, lasts time.Duration) tls.Certificate {
	a.Helper()
	a.issue(name, &x509.Certificate{
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: time.Now().Add(lasts),
	})
	pair, err := tls.LoadX509KeyPair(a.file(name+".crt"), a.file(name+".key"))
	require.NoError(a, err)
	return pair
}

// dial returns a client of a server that wants TLS.
func dial(t *testing.T, endpoint string, config *tls.Config) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: config, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// secure starts an etcd that speaks only to clients with a certificate of the authority. It returns
// where, and what stops and starts it.
func (a *authority) secure() (endpoint string, restart func()) {
	a.Helper()
	a.issue("server", &x509.Certificate{
		DNSNames:    []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	socket := url.URL{Scheme: "unixs", Path: a.file(host)}
	dir := a.TempDir()
	start := func() *embedded.Server {
		server, err := embedded.Start(dir, func(c *embed.Config) {
			c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{socket}, []url.URL{socket}
			c.ClientTLSInfo = transport.TLSInfo{
				CertFile: a.file("server.crt"), KeyFile: a.file("server.key"),
				TrustedCAFile: a.file("authority.crt"), ClientCertAuth: true,
			}
		})
		require.NoError(a, err)
		return server
	}
	server := start()
	a.Cleanup(func() { require.NoError(a, server.Close()) })
	return socket.String(), func() {
		require.NoError(a, server.Close())
		server = start()
	}
}

// With TLS a client is the user that its certificate names, and needs no password. What others may
// not do they may not do here either.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	endpoint, _ := a.secure()
	ctx := patient(t)
	root := dial(t, endpoint, a.client("root"))
	grant(t, root, false)

	fleets := make([]*fleet.Fleet, 2)
	for i := range fleets {
		fleets[i] = joinBy(t, dial(t, endpoint, a.client(user)))
	}
	handOver(t, fleets[0], fleets[1])

	_, err := fleet.New(ctx, etcd.New(dial(t, endpoint, a.client("stranger")), namespace))
	require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
	_, err = fleet.New(ctx, etcd.New(dial(t, endpoint, a.client(user)), "other"))
	require.ErrorIs(t, err, rpctypes.ErrPermissionDenied)

	other := newAuthority(t).client(user) // the same name, by another authority
	other.RootCAs = a.client("trusting").RootCAs
	without := a.client("without")
	without.Certificates = nil
	for name, config := range map[string]*tls.Config{"another authority's": other, "none": without} {
		few, cancel := context.WithTimeout(ctx, time.Second)
		_, err = fleet.New(few, etcd.New(dial(t, endpoint, config), namespace))
		cancel()
		require.Error(t, err, name)
	}
}

// A certificate may end while a process runs. Connections last, but no new one is made. So after a
// restart of the server the process loses what it holds, and others get it. Once the process has
// another certificate all goes on.
func TestACertificateThatEnds(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	endpoint, restart := a.secure()
	ctx := patient(t)
	grant(t, dial(t, endpoint, a.client("root")), false)

	var current atomic.Pointer[tls.Certificate]
	set := func(c tls.Certificate) { current.Store(&c) }
	set(a.pair(user, time.Hour))
	config := a.client(user)
	config.Certificates = nil
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return current.Load(), nil
	}
	ttl := fleet.WithTTL(5 * time.Second)
	one, two := joinBy(t, dial(t, endpoint, config), ttl), joinBy(t, dial(t, endpoint, a.client(user)), ttl)
	mine, err := one.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	theirs, err := two.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	p, err := mine.AcquirePermit(ctx, 1)
	require.NoError(t, err)

	set(a.pair(user, -time.Minute))
	require.True(t, p.Valid(), "connections last")
	restart()
	select {
	case <-p.Lost():
	case <-ctx.Done():
		require.FailNow(t, "what it holds is not lost")
	}
	require.False(t, p.Valid())
	require.NoError(t, theirs.Acquire(ctx, 1))
	few, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	require.Error(t, mine.Acquire(few, 1))
	cancel()
	p.Release()
	theirs.Release(1)

	set(a.pair(user, time.Hour))
	require.Eventually(t, func() bool { return mine.Acquire(ctx, 1) == nil }, patience, time.Millisecond)
	mine.Release(1)
}

// Close ends a server although its clients begin anew whatever it ends.
func TestCloseWithTLSWhileClientsAsk(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	endpoint, restart := a.secure()
	ctx := patient(t)
	const streams = 20
	root := dial(t, endpoint, a.client("root"))
	var seen atomic.Int64
	for range streams {
		watch := dial(t, endpoint, a.client("root")).Watch(ctx, "k", clientv3.WithRev(1))
		go func() {
			for r := range watch { // it goes on when a stream ends
				seen.Add(int64(len(r.Events)))
			}
		}()
	}
	for i := range int64(3) {
		_, err := root.Put(ctx, "k", "")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return seen.Load() == streams*(i+1) }, patience, time.Millisecond)
		closed := make(chan struct{})
		go func() {
			restart()
			close(closed)
		}()
		select {
		case <-closed:
		case <-ctx.Done():
			require.FailNow(t, "the server does not end")
		}
	}
}

// handOver has one process hold a permit, and another one wait for it and get it.
func handOver(t *testing.T, one, two *fleet.Fleet) {
	t.Helper()
	ctx := patient(t)
	a, err := one.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	b, err := two.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	p, err := a.AcquirePermit(ctx, 1)
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() { got <- b.Acquire(ctx, 1) }()
	require.Eventually(t, func() bool { return len(blocks(t, one)) == 2 }, patience, time.Millisecond)
	require.Len(t, got, 0)
	p.Release()
	require.NoError(t, <-got)
	b.Release(1)
}

// Clients whose keys are in a namespace of etcd's client work, and those of two do not meet.
func TestNamespacesOfTheClient(t *testing.T) {
	t.Parallel()
	s, root := server(t)
	_, err := root.AuthDisable(patient(t))
	require.NoError(t, err)
	ctx := patient(t)
	in := func(prefix string) *fleet.Fleet {
		c, err := s.Client()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		c.KV = prefixed.NewKV(c.KV, prefix)
		c.Watcher = prefixed.NewWatcher(c.Watcher, prefix)
		c.Lease = prefixed.NewLease(c.Lease, prefix)
		return joinBy(t, c)
	}
	one, two, apart := in("tenant/"), in("tenant/"), in("neighbour/")
	sem, err := apart.Semaphore(ctx, "exports", 1)
	require.NoError(t, err)
	require.NoError(t, sem.Acquire(ctx, 1), "it stays here all the time")
	handOver(t, one, two)
	require.Len(t, blocks(t, apart), 1)
	sem.Release(1)
	all, err := root.Get(ctx, "", clientv3.WithPrefix())
	require.NoError(t, err)
	require.NotEmpty(t, all.Kvs)
	for _, kv := range all.Kvs {
		require.Regexp(t, "^(tenant|neighbour)/"+namespace+"/", string(kv.Key))
	}
}
