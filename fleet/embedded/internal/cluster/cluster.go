package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
)

const (
	maxMembers = 9

	// A member that is paused does not answer whether it leads; others are asked again.
	askTimeout = 500 * time.Millisecond
	askAgain   = 10 * time.Millisecond
)

// A Cluster is some members, numbered from 0. Its methods may be called by several goroutines.
type Cluster struct {
	network *network
	members []*member
	remove  []string // directories that Close removes
	closing sync.Once
	err     error // of Close
}

// A member is one process after another, with the same data.
type member struct {
	config memberConfig
	env    []string
	id     uint64           // etcd's
	admin  *clientv3.Client // past the network, so that no fault hides the member

	mu      sync.Mutex
	process *child.Process
}

// An Option changes how Start starts a cluster.
type Option func(*settings)

type settings struct {
	dir      string
	logLevel string
}

// WithDir keeps the data in dir. Close leaves them there, and a cluster of as many members that is
// started in dir again has them. The members sync what they write to the disk.
//
// Otherwise the data are in memory, if there is enough of it at /dev/shm, or in a temporary
// directory. They are not synced then: what a process has written outlives it anyway.
func WithDir(dir string) Option {
	return func(s *settings) { s.dir = dir }
}

// WithLogLevel makes the members log to the standard error from a level on: "debug", "info", "warn"
// or "error". Without it, they say only why they end.
func WithLogLevel(level string) Option {
	return func(s *settings) { s.logLevel = level }
}

// Main runs a member, and does not return, in a process that Start has started. Otherwise it
// returns at once. It must come first in main or TestMain.
func Main() {
	child.Main(role, runMember)
}

// Start starts n members and returns when all of them serve. The context bounds the start only. The
// members end with this process, however it ends.
func Start(ctx context.Context, n int, options ...Option) (c *Cluster, err error) {
	if n < 1 || n > maxMembers {
		return nil, fmt.Errorf("cluster: %d members, not 1 to %d", n, maxMembers)
	}
	s := settings{logLevel: "panic"}
	for _, o := range options {
		o(&s)
	}
	c = &Cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cluster: %w", err), c.Close())
			c = nil
		}
	}()
	if err := c.plan(n, s); err != nil {
		return c, err
	}
	for i := range c.members {
		if err := c.Restart(ctx, i); err != nil {
			return c, err
		}
	}
	return c, c.awaitAll(ctx)
}

// plan makes directories, addresses and configurations of n members.
func (c *Cluster) plan(n int, s settings) (err error) {
	// Paths of sockets must be short, so that they are never in the directory of the data.
	sockets, err := c.temporary("")
	if err != nil {
		return err
	}
	data, synced := s.dir, true
	if data == "" {
		if data, err = c.temporary(memory()); err != nil {
			return err
		}
		synced = false
	} else if data, err = filepath.Abs(data); err != nil { // members work in directories of their own
		return err
	}
	c.network = newNetwork(n, sockets)
	var initial []string
	for i := range n {
		initial = append(initial, fmt.Sprintf("%s=%s", memberName(i), peerURL(i)))
	}
	for i := range n {
		clients, peers, err := c.network.serve(i)
		if err != nil {
			return err
		}
		m := &member{
			config: memberConfig{
				Name: memberName(i), Dir: filepath.Join(data, memberName(i)), Sockets: c.network.directory(i),
				AdvertiseClientURL: "http://" + clients, AdvertisePeerURL: peerURL(i),
				InitialCluster: strings.Join(initial, ","), UnsafeNoFsync: !synced, LogLevel: s.logLevel,
			},
			env: proxyEnvironment(peers),
		}
		c.members = append(c.members, m)
		if err := os.MkdirAll(m.config.Sockets, 0o700); err != nil {
			return err
		}
		if m.admin, err = newAdmin(filepath.Join(m.config.Sockets, clientSocket)); err != nil {
			return err
		}
	}
	return nil
}

// temporary makes a directory that Close removes.
func (c *Cluster) temporary(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "etcd")
	if err == nil {
		c.remove = append(c.remove, dir)
	}
	return dir, err
}

// newAdmin returns a client that connects to a restarted member at once: gRPC would wait a second.
func newAdmin(socket string) (*clientv3.Client, error) {
	params := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: askAgain, Multiplier: 1, MaxDelay: askAgain},
		MinConnectTimeout: askTimeout,
	}
	return clientv3.New(clientv3.Config{
		Endpoints:   []string{"unix://" + socket},
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(params)},
		Logger:      zap.NewNop(),
	})
}

// awaitAll waits until all members serve and follow one leader.
func (c *Cluster) awaitAll(ctx context.Context) error {
	for {
		_, states, err := c.leader(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(states, nil) {
			for i, s := range states {
				c.members[i].id = s.Header.MemberId
			}
			return nil
		}
	}
}

// Len returns the number of members.
func (c *Cluster) Len() int { return len(c.members) }

// Endpoints returns where clients reach the members, in their order: the Endpoints of a
// clientv3.Config. They stay the same when members are started again.
func (c *Cluster) Endpoints() []string {
	var e []string
	for _, m := range c.members {
		e = append(e, m.config.AdvertiseClientURL)
	}
	return e
}

// Client returns a new client of all members, with etcd's settings. The caller closes it.
func (c *Cluster) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
}

// Kill ends a member as a crash does. It returns when the process has ended.
func (c *Cluster) Kill(i int) error {
	m := c.members[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kill()
}

func (m *member) kill() error {
	if m.process == nil {
		return nil
	}
	return m.process.Kill()
}

// Pause stops a member until Resume or Restart, as a suspended machine stops. It returns when the
// member does nothing any more. Systems without such signals return errors.ErrUnsupported.
func (c *Cluster) Pause(i int) error {
	m := c.members[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process.Pause()
}

// Resume lets a paused member go on.
func (c *Cluster) Resume(i int) error {
	m := c.members[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process.Resume()
}

// Restart kills the member if it runs, and starts it again with its data. It returns when the
// member runs. Clients get answers from it once it sees a majority.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	m := c.members[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.kill(); err != nil {
		return err
	}
	p, err := child.Start(role, m.config, m.env...)
	if err != nil {
		return err
	}
	m.process = p
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	var word string
	err = p.Next(&word)
	switch {
	case !stop():
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return fmt.Errorf("member %d ended: %w", i, p.Wait())
	default:
		return err
	}
}

// Leader waits until a majority of the members follow one leader, and returns it. A leader that has
// just been cut off is followed until the others notice.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	i, _, err := c.leader(ctx)
	return i, err
}

func (c *Cluster) leader(ctx context.Context) (int, []*clientv3.StatusResponse, error) {
	for {
		states := c.ask(ctx)
		if i, ok := leaderOf(states); ok {
			return i, states, nil
		}
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// leaderOf returns the leader that a majority follows in its term.
func leaderOf(states []*clientv3.StatusResponse) (int, bool) {
	type view struct{ leader, term uint64 }
	followers := map[view]int{}
	for _, s := range states {
		if s != nil {
			followers[view{s.Leader, s.RaftTerm}]++
		}
	}
	for i, s := range states {
		if s != nil && s.Header.MemberId == s.Leader && followers[view{s.Leader, s.RaftTerm}] > len(states)/2 {
			return i, true
		}
	}
	return 0, false
}

// ask asks all members for their state. It is nil of those that do not answer.
func (c *Cluster) ask(ctx context.Context) []*clientv3.StatusResponse {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	states := make([]*clientv3.StatusResponse, len(c.members))
	var wg sync.WaitGroup
	for i, m := range c.members {
		wg.Go(func() {
			if s, err := m.admin.Status(ctx, m.admin.Endpoints()[0]); err == nil {
				states[i] = s
			}
		})
	}
	wg.Wait()
	return states
}

// MoveLeader makes a member the leader. It fails if the member is too far behind or cut off.
func (c *Cluster) MoveLeader(ctx context.Context, i int) error {
	for {
		leader, err := c.Leader(ctx)
		if err != nil || leader == i {
			return err
		}
		_, err = c.members[leader].admin.MoveLeader(ctx, c.members[i].id)
		if !errors.Is(err, rpctypes.ErrNotLeader) { // another was elected since
			return err
		}
	}
}

// Partition cuts a member off from the other members, from clients, or from both, until Heal.
// Members that are cut off do not reach each other either.
func (c *Cluster) Partition(i int, from Side) {
	c.network.partition(i, from)
}

// Heal ends all partitions. What was sent meanwhile arrives.
func (c *Cluster) Heal() {
	c.network.heal()
}

// Link returns a way from a client to all members, which can be cut apart from those of others.
func (c *Cluster) Link() (*Link, error) {
	return c.network.link()
}

// Close kills all members and ends all connections.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		for _, m := range c.members {
			m.mu.Lock()
			c.err = errors.Join(c.err, m.kill())
			m.mu.Unlock()
			if m.admin != nil {
				c.err = errors.Join(c.err, m.admin.Close())
			}
		}
		if c.network != nil {
			c.network.close()
		}
		for _, dir := range c.remove {
			c.err = errors.Join(c.err, os.RemoveAll(dir))
		}
	})
	return c.err
}
