package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

const (
	patience = 60 * time.Second       // for what must happen
	brief    = 300 * time.Millisecond // for what must not
)

func TestMain(m *testing.M) {
	cluster.Main()
	flag.Parse()
	// The tests wait most of the time: for elections.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func TestOneMemberIsACluster(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	client := connect(t, c.Endpoints())
	put(t, client, "1")
	leader, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.Zero(t, leader)
	require.NoError(t, c.Kill(0))
	require.NoError(t, c.Kill(0)) // again
	require.NoError(t, c.Restart(patient(t), 0))
	require.Equal(t, "1", get(t, client))
}

func TestClusterOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	client, err := c.Client()
	require.NoError(t, err)
	defer client.Close()
	first, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.NoError(t, c.Kill(first))
	second, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	put(t, client, "1")

	require.NoError(t, c.Kill(second))
	require.Error(t, write(t, client, brief, "2"), "without a majority")
	require.NoError(t, c.Restart(patient(t), first))
	put(t, client, "3")
	caughtUp(t, c, first, "3")
}

func TestDataSurviveTheDeathOfAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	c := start(t, 3, cluster.WithDir(dir))
	put(t, connect(t, c.Endpoints()), "1")
	for i := range c.Len() {
		require.NoError(t, c.Kill(i))
	}
	for i := range c.Len() {
		require.NoError(t, c.Restart(patient(t), i))
	}
	require.Equal(t, "1", get(t, connect(t, c.Endpoints())))
	require.NoError(t, c.Close())

	c = start(t, 3, cluster.WithDir(dir))
	require.Equal(t, "1", get(t, connect(t, c.Endpoints())))
}

func TestLeaderMoves(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	for _, i := range []int{0, 1, 2, 2, 0} {
		require.Eventually(t, func() bool { // the others leave a leader that stands still for a second
			if c.MoveLeader(patient(t), i) != nil {
				return false
			}
			leader, err := c.Leader(patient(t))
			return err == nil && leader == i
		}, patience, 10*time.Millisecond)
	}
}

// A member that is cut off knows nothing of what the others decide, and decides nothing.
func TestPartitionFromPeers(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	require.NoError(t, c.MoveLeader(patient(t), 0))
	all, cut := connect(t, c.Endpoints()[1:]), connect(t, c.Endpoints()[:1])
	put(t, all, "1")
	caughtUp(t, c, 0, "1")

	c.Partition(0, cluster.Peers)
	require.Eventually(t, func() bool {
		leader, err := c.Leader(patient(t))
		return err == nil && leader != 0
	}, patience, 10*time.Millisecond)
	put(t, all, "2")
	require.Error(t, write(t, cut, brief, "3"))
	require.Equal(t, "1", serializable(t, cut))

	c.Heal()
	caughtUp(t, c, 0, "2")
	put(t, cut, "4")
	require.Equal(t, "4", get(t, all))
}

// A follower that is cut off gets nothing either: not on the connections that it has opened, and
// not on those that others open to it.
func TestPartitionCutsBothDirections(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	require.NoError(t, c.MoveLeader(patient(t), 0))
	all, cut := connect(t, c.Endpoints()[:1]), connect(t, c.Endpoints()[2:])
	put(t, all, "1")
	caughtUp(t, c, 2, "1")
	c.Partition(2, cluster.Peers)
	put(t, all, "2")
	time.Sleep(brief) // the others would use another connection
	require.Equal(t, "1", serializable(t, cut))
	require.NoError(t, c.Restart(patient(t), 2)) // all connections are new
	require.Error(t, write(t, cut, brief, "3"))
	c.Heal()
	caughtUp(t, c, 2, "2")
}

func TestPartitionFromClients(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	require.NoError(t, c.MoveLeader(patient(t), 0))
	all, cut := connect(t, c.Endpoints()[1:]), connect(t, c.Endpoints()[:1])
	put(t, cut, "1")
	c.Partition(0, cluster.Clients)
	require.Error(t, write(t, cut, brief, "2"))
	put(t, all, "3")
	leader, err := c.Leader(patient(t))
	require.NoError(t, err)
	require.Zero(t, leader, "its peers still follow it")
	c.Heal()
	put(t, cut, "4")
}

func TestLinkIsCutForOneClient(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	link, err := c.Link()
	require.NoError(t, err)
	require.Len(t, link.Endpoints(), 1)
	one, other := connect(t, link.Endpoints()), connect(t, c.Endpoints())
	put(t, one, "1")
	watch := one.Watch(t.Context(), "k")
	link.Cut()
	require.Error(t, write(t, one, brief, "late")) // whether it is written after Heal, nobody knows
	put(t, other, "2")
	select {
	case r := <-watch:
		t.Fatalf("a watch that is cut off got %v", r)
	case <-time.After(brief):
	}
	link.Heal()
	select {
	case r := <-watch:
		require.Equal(t, "2", string(r.Events[0].Kv.Value))
	case <-time.After(patience):
		t.Fatal("the watch got nothing after Heal")
	}
	put(t, one, "3")
}

func TestWhatIsSentWhileCutArrivesAfterHeal(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Endpoints()[0], "http://"))
	require.NoError(t, err)
	defer conn.Close()
	answer := bufio.NewReader(conn)
	c.Partition(0, cluster.Clients)
	_, err = io.WriteString(conn, "GET /version HTTP/1.0\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(brief)))
	_, err = answer.ReadByte()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	c.Heal()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	line, err := answer.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.0 200 OK\r\n", line)
}

func TestStartFails(t *testing.T) {
	for _, n := range []int{0, -1, 10} {
		_, err := cluster.Start(t.Context(), n)
		require.ErrorContains(t, err, "members")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cluster.Start(ctx, 3)
	require.ErrorIs(t, err, context.Canceled)

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	said := stderr(t, func() {
		_, err = cluster.Start(t.Context(), 1, cluster.WithDir(file))
	})
	require.ErrorContains(t, err, "member 0 ended")
	require.Contains(t, said, "not a directory")
}

func TestMembersAreQuietUnlessAsked(t *testing.T) {
	run := func(options ...cluster.Option) string {
		return stderr(t, func() { require.NoError(t, start(t, 1, options...).Close()) })
	}
	require.Empty(t, run())
	require.Contains(t, run(cluster.WithLogLevel("info")), "starting an etcd server")
}

func start(t *testing.T, n int, options ...cluster.Option) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(patient(t), n, options...)
	require.NoError(t, err)
	require.Equal(t, n, c.Len())
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t *testing.T, endpoints []string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// put writes, again and again if it must: it may meet an election or a member that is gone.
func put(t *testing.T, client *clientv3.Client, value string) {
	t.Helper()
	var err error
	for ctx := patient(t); ctx.Err() == nil; {
		once, cancel := context.WithTimeout(ctx, time.Second)
		_, err = client.Put(once, "k", value)
		cancel()
		if err == nil {
			return
		}
	}
	t.Fatal(err)
}

// write tries once.
func write(t *testing.T, client *clientv3.Client, limit time.Duration, value string) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	_, err := client.Put(ctx, "k", value)
	return err
}

func get(t *testing.T, client *clientv3.Client, options ...clientv3.OpOption) string {
	t.Helper()
	r, err := client.Get(patient(t), "k", options...)
	require.NoError(t, err)
	if len(r.Kvs) == 0 {
		return ""
	}
	return string(r.Kvs[0].Value)
}

// serializable reads what the member itself knows.
func serializable(t *testing.T, client *clientv3.Client) string {
	t.Helper()
	return get(t, client, clientv3.WithSerializable())
}

// caughtUp waits until member i knows a value.
func caughtUp(t *testing.T, c *cluster.Cluster, i int, value string) {
	t.Helper()
	client := connect(t, c.Endpoints()[i:i+1])
	require.Eventually(t, func() bool { return serializable(t, client) == value }, patience, 10*time.Millisecond)
}

// stderr returns what is written to the standard error while f runs.
func stderr(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	old := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = old }()
	f()
	_, err = file.Seek(0, io.SeekStart)
	require.NoError(t, err)
	var said bytes.Buffer
	_, err = said.ReadFrom(file)
	require.NoError(t, err)
	return said.String()
}
