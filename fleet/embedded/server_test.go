package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/fleet/embedded"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestDataSurviveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "directory")
	server, client := start(t, dir)
	_, err := client.Put(t.Context(), "k", "v")
	require.NoError(t, err)
	require.NoError(t, server.Close())

	_, client = start(t, dir)
	r, err := client.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(r.Kvs[0].Value))
}

func TestTemporaryDataAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	first, _ := start(t, "")
	second, client := start(t, "")
	require.NotEqual(t, first.Endpoints(), second.Endpoints())
	_, err := client.Put(t.Context(), "k", "v")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	require.NoError(t, second.Close()) // again
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDirectoryIsForOneServer(t *testing.T) {
	dir := t.TempDir()
	_, client := start(t, dir)
	_, err := embedded.Start(dir)
	require.ErrorContains(t, err, dir)
	_, err = client.Put(t.Context(), "k", "v")
	require.NoError(t, err)
}

func TestPathOfTheDirectoryMayBeLong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 200))
	_, client := start(t, dir)
	_, err := client.Put(t.Context(), "k", "v")
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(dir, "member"))
}

func TestDirectoryMayBeRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	_, client := start(t, "data")
	t.Chdir("/")
	_, err := client.Put(t.Context(), "k", "v")
	require.NoError(t, err)
}

func TestLeaseOfTwoSecondsEnds(t *testing.T) {
	_, client := start(t, "")
	lease, err := client.Grant(t.Context(), 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, lease.TTL)
	_, err = client.Put(t.Context(), "k", "v", clientv3.WithLease(lease.ID))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		r, err := client.Get(t.Context(), "k")
		return err == nil && r.Count == 0
	}, patience, 20*time.Millisecond)
}

// It would wait more than five seconds, some of the times.
func TestCloseDoesNotWaitForWatchesAndRenewals(t *testing.T) {
	server, client := start(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := client.Watch(ctx, "k", clientv3.WithCreatedNotify())
	require.True(t, (<-watch).Created)
	lease, err := client.Grant(ctx, 10)
	require.NoError(t, err)
	renewals, err := client.KeepAlive(ctx, lease.ID)
	require.NoError(t, err)
	<-renewals
	began := time.Now()
	require.NoError(t, server.Close())
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestEtcdIsQuietUnlessAsked(t *testing.T) {
	run := func(options ...embedded.Option) string {
		file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		require.NoError(t, err)
		defer file.Close()
		old := os.Stderr
		os.Stderr = file
		defer func() { os.Stderr = old }()
		server, err := embedded.Start("", options...)
		require.NoError(t, err)
		require.NoError(t, server.Close())
		said, err := os.ReadFile(file.Name())
		require.NoError(t, err)
		return string(said)
	}
	require.Empty(t, run())
	require.Contains(t, run(func(c *embed.Config) { c.LogLevel = "info" }), "starting an etcd server")
}

func TestDirectoryThatCannotBeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	server, err := embedded.Start(file)
	require.Nil(t, server)
	require.ErrorContains(t, err, file)
}

func start(t *testing.T, dir string) (*embedded.Server, *clientv3.Client) {
	t.Helper()
	server, err := embedded.Start(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	client, err := server.Client()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return server, client
}
