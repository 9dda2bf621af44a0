package cluster

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	patience = 30 * time.Second      // for what must happen
	brief    = 20 * time.Millisecond // for what must not
)

// Every connection between members, in the direction in which it was opened, is cut if one of its
// ends is, and works again after Heal.
func TestPartitionCutsEveryConnectionOfAMember(t *testing.T) {
	w := newWorld(t, 3)
	type pair struct{ from, to int }
	opened := map[pair]*conn{}
	for i := range 3 {
		for j := range 3 {
			if i != j {
				opened[pair{i, j}] = w.peer(i, j)
				opened[pair{i, j}].works()
			}
		}
	}
	for k := range 3 {
		w.partition(k, Peers)
		var hanging []*conn
		for p, c := range opened {
			if p.from == k || p.to == k {
				c.hangs()
				hanging = append(hanging, c)
			} else {
				c.works()
			}
		}
		for i := range 3 {
			w.client(i).works()
		}
		w.heal()
		for _, c := range hanging {
			c.answered()
		}
	}
}

// A connection that was opened during a partition is granted afterwards only: a member that gives
// up meanwhile has sent nothing.
func TestConnectionsAreNotOpenedThroughAPartition(t *testing.T) {
	w := newWorld(t, 2)
	for k := range 2 {
		w.partition(k, Peers)
		c := w.dial(w.proxies[0])
		c.connect(1)
		c.hears(brief, "")
		w.heal()
		c.hears(patience, granted)
		c.works()
	}
}

func TestLinksAreCutAloneAndWithTheMember(t *testing.T) {
	w := newWorld(t, 1)
	link, err := w.link()
	require.NoError(t, err)
	one, other := w.dial(strings.TrimPrefix(link.Endpoints()[0], "http://")), w.client(0)
	one.works()
	other.works()
	link.Cut()
	one.hangs()
	other.works()
	link.Heal()
	one.answered()
	w.partition(0, Clients)
	one.hangs()
	other.hangs()
	link.Heal() // it was not this cut
	one.hears(brief, "")
	w.heal()
	one.answered()
	other.answered()
}

// A connection ends at one end when it has ended at the other – but not while it is cut.
func TestEndsAreToldUnlessCut(t *testing.T) {
	w := newWorld(t, 2)
	c, p := w.client(0), w.peer(0, 1)
	c.works()
	p.works()
	w.partition(0, Peers|Clients)
	w.stop()
	c.hears(brief, "")
	p.hears(brief, "")
	late := w.client(0) // nobody listens there now
	late.hears(brief, "")
	w.heal()
	c.ended()
	p.ended()
	late.ended()
}

func TestProxyServesMembersOnly(t *testing.T) {
	w := newWorld(t, 2)
	c := w.dial(w.proxies[0])
	c.connect(2)
	c.ended()
}

func TestLeaderIsFollowedByAMajorityInItsTerm(t *testing.T) {
	state := func(member, leader, term uint64) *clientv3.StatusResponse {
		header := &etcdserverpb.ResponseHeader{MemberId: member}
		return &clientv3.StatusResponse{Header: header, Leader: leader, RaftTerm: term}
	}
	for _, c := range []struct {
		name   string
		states []*clientv3.StatusResponse
		leader int // or -1
	}{
		{"all", []*clientv3.StatusResponse{state(1, 2, 7), state(2, 2, 7), state(3, 2, 7)}, 1},
		{"majority", []*clientv3.StatusResponse{state(1, 2, 7), state(2, 2, 7), nil}, 1},
		{"one", []*clientv3.StatusResponse{nil, state(2, 2, 7), nil}, -1},
		{"half", []*clientv3.StatusResponse{state(1, 1, 7), state(2, 1, 7), nil, nil}, -1},
		{"none", []*clientv3.StatusResponse{state(1, 0, 7), state(2, 0, 7), state(3, 0, 7)}, -1},
		{"does not know it", []*clientv3.StatusResponse{state(1, 2, 7), state(2, 0, 7), state(3, 2, 7)}, -1},
		{"former", []*clientv3.StatusResponse{state(1, 1, 6), state(2, 2, 7), state(3, 2, 7)}, 1},
		{"again", []*clientv3.StatusResponse{state(1, 2, 6), state(2, 2, 7), state(3, 2, 6)}, -1},
	} {
		i, ok := leaderOf(c.states)
		if !ok {
			i = -1
		}
		require.Equal(t, c.leader, i, c.name)
	}
}

// A world is a network whose members send back what they get.
type world struct {
	*network
	t                *testing.T
	clients, proxies []string // by member
	stopping         context.Context
	stop             context.CancelFunc
	echoes           sync.WaitGroup
}

func newWorld(t *testing.T, n int) *world {
	sockets, err := os.MkdirTemp("", "etcd")
	require.NoError(t, err)
	w := &world{network: newNetwork(n, sockets), t: t}
	w.stopping, w.stop = context.WithCancel(t.Context())
	t.Cleanup(func() {
		w.close()
		w.stop()
		w.echoes.Wait()
		require.NoError(t, os.RemoveAll(sockets))
	})
	for i := range n {
		require.NoError(t, os.Mkdir(w.directory(i), 0o700))
		for _, name := range []string{clientSocket, peerSocket} {
			l, err := net.Listen("unix", filepath.Join(w.directory(i), name))
			require.NoError(t, err)
			w.echo(l)
		}
		client, proxy, err := w.serve(i)
		require.NoError(t, err)
		w.clients, w.proxies = append(w.clients, client), append(w.proxies, proxy)
	}
	return w
}

func (w *world) echo(l net.Listener) {
	context.AfterFunc(w.stopping, func() { _ = l.Close() })
	w.echoes.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(w.stopping, func() { _ = c.Close() })
			w.echoes.Go(func() { _, _ = io.Copy(c, c) })
		}
	})
}

func (w *world) dial(address string) *conn {
	c, err := net.Dial("tcp", address)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return &conn{c, w.t}
}

// client connects to member i as a client does.
func (w *world) client(i int) *conn { return w.dial(w.clients[i]) }

// peer connects member i to member j.
func (w *world) peer(i, j int) *conn {
	c := w.dial(w.proxies[i])
	c.connect(j)
	c.hears(patience, granted)
	return c
}

const granted = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"

type conn struct {
	net.Conn
	t *testing.T
}

// connect asks a proxy for a connection to member j.
func (c *conn) connect(j int) {
	c.says("\x05\x01\x00") // version 5, one method: no authentication
	c.hears(patience, "\x05\x00")
	ip := peerAddress(j).As4()
	c.says("\x05\x01\x00\x01" + string(ip[:]) + "\x09\x4c") // connect to an IPv4 address, port 2380
}

func (c *conn) says(text string) {
	c.t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(c.t, err)
}

// hears expects a text, or that there is none while time passes.
func (c *conn) hears(limit time.Duration, text string) {
	c.t.Helper()
	got := make([]byte, max(1, len(text)))
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(limit)))
	n, err := io.ReadFull(c, got)
	require.Equal(c.t, text, string(got[:n]), err)
	if text == "" {
		require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
	}
}

func (c *conn) hangs() {
	c.t.Helper()
	c.says("x")
	c.hears(brief, "")
}

// answered expects the answer to what hangs has sent.
func (c *conn) answered() {
	c.t.Helper()
	c.hears(patience, "x")
}

func (c *conn) works() {
	c.t.Helper()
	c.says("x")
	c.answered()
}

func (c *conn) ended() {
	c.t.Helper()
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadFull(c, make([]byte, 1))
	require.Error(c.t, err)
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded)
}
