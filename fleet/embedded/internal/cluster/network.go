package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Side is a group of those with whom a member talks.
type Side uint8

// The sides of a member, which may be combined.
const (
	Peers Side = 1 << iota // the other members
	Clients
)

// Members are known to each other by addresses of a network that is set aside for documentation.
// Each reaches them through a SOCKS proxy of its own, so that we know who connects to whom.
// Neither addresses nor ports are taken from the machine, and the addresses stay when a cluster
// starts again.
const peerPort = 2380

func peerAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + i)}) }

func peerURL(i int) string { return fmt.Sprintf("http://%s:%d", peerAddress(i), peerPort) }

// proxyEnvironment makes a member use the proxy for its peers.
func proxyEnvironment(address string) []string {
	return []string{
		"HTTP_PROXY=socks5://" + address, "http_proxy=",
		"NO_PROXY=", "no_proxy=", "REQUEST_METHOD=",
	}
}

// A network carries all bytes of a cluster.
type network struct {
	sockets string // a directory with one for each member
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex    // guards the fields below, and cut of links
	cut     []Side        // by member
	changed chan struct{} // closed when something is cut or healed
}

func newNetwork(n int, sockets string) *network {
	ctx, end := context.WithCancel(context.Background())
	return &network{sockets: sockets, ctx: ctx, end: end, cut: make([]Side, n), changed: make(chan struct{})}
}

// close ends all connections.
func (n *network) close() {
	n.end()
	n.running.Wait()
}

// directory returns where member i has its sockets.
func (n *network) directory(i int) string { return filepath.Join(n.sockets, memberName(i)) }

// serve returns where clients reach member i, and the proxy by which it reaches its peers.
func (n *network) serve(i int) (clients, peers string, err error) {
	if clients, err = n.listen(n.toMember(i, func() bool { return n.cut[i]&Clients == 0 }, nil)); err != nil {
		return "", "", err
	}
	peers, err = n.listen(func(conn net.Conn) {
		j, err := readSOCKS(conn, len(n.cut))
		if err != nil {
			return // by the end of the member; it asks for nothing else
		}
		open := func() bool { return (n.cut[i]|n.cut[j])&Peers == 0 }
		// The answer waits: a member that gives up must not have sent a request yet.
		if n.await(open) == nil && grantSOCKS(conn) == nil {
			n.relay(conn, filepath.Join(n.directory(j), peerSocket), open, nil)
		}
	})
	return clients, peers, err
}

// toMember handles connections of clients to member i.
func (n *network) toMember(i int, open func() bool, delay *atomic.Int64) func(net.Conn) {
	return func(conn net.Conn) { n.relay(conn, filepath.Join(n.directory(i), clientSocket), open, delay) }
}

func (n *network) partition(i int, from Side) {
	n.change(func() { n.cut[i] |= from })
}

func (n *network) heal() {
	n.change(func() { clear(n.cut) })
}

func (n *network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.changed)
	n.changed = make(chan struct{})
}

// await waits until open, which is called under the lock, returns true.
func (n *network) await(open func() bool) error {
	for {
		n.mu.Lock()
		ok, changed := open(), n.changed
		n.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
}

// listen handles connections to a new address until the network closes.
func (n *network) listen(handle func(net.Conn)) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(n.ctx, func() { _ = l.Close() })
	n.running.Go(func() {
		for n.ctx.Err() == nil {
			conn, err := l.Accept()
			if err != nil { // by close, or because there are too many open files for now
				time.Sleep(time.Millisecond)
				continue
			}
			n.running.Go(func() {
				defer n.closing(conn)()
				handle(conn)
			})
		}
	})
	return l.Addr().String(), nil
}

// closing closes the connection when the network closes, or earlier when the result is called.
func (n *network) closing(conn net.Conn) func() {
	stop := context.AfterFunc(n.ctx, func() { _ = conn.Close() })
	return func() {
		if stop() {
			_ = conn.Close()
		}
	}
}

// relay connects a connection to a socket, and lets bytes pass while open returns true. Neither end
// learns that the other one is gone while it does not. Each byte is under way for as long as delay
// says, if there is one.
func (n *network) relay(conn net.Conn, socket string, open func() bool, delay *atomic.Int64) {
	if n.await(open) != nil {
		return
	}
	member, err := net.Dial("unix", socket)
	if err != nil {
		return // there is no member: the connection is closed
	}
	defer n.closing(member)()
	var directions sync.WaitGroup
	for _, d := range [][2]net.Conn{{conn, member}, {member, conn}} {
		directions.Go(func() {
			if delay == nil {
				n.copy(d[1], d[0], open)
			} else {
				f := newFar(d[1], delay)
				n.copy(f, d[0], open)
				f.end()
			}
			// Neither gRPC nor HTTP closes only one direction.
			_, _ = conn.Close(), member.Close()
		})
	}
	directions.Wait()
}

func (n *network) copy(to io.Writer, from io.Reader, open func() bool) {
	buffer := make([]byte, 32<<10)
	for {
		k, err := from.Read(buffer)
		if n.await(open) != nil {
			return
		}
		if _, failed := to.Write(buffer[:k]); failed != nil || err != nil {
			return
		}
	}
}

// readSOCKS does the server's part of version 5 (RFC 1928) up to the last answer, and returns
// which of the members it is asked for.
func readSOCKS(conn net.Conn, members int) (int, error) {
	var b [255]byte
	if _, err := io.ReadFull(conn, b[:2]); err != nil { // version, number of methods
		return 0, err
	}
	if _, err := io.ReadFull(conn, b[:b[1]]); err != nil { // methods
		return 0, err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil { // no authentication
		return 0, err
	}
	if _, err := io.ReadFull(conn, b[:10]); err != nil { // version, command, reserved, type, address, port
		return 0, err
	}
	for j := range members {
		if b[1] == socksConnect && b[3] == socksIPv4 && netip.AddrFrom4([4]byte(b[4:8])) == peerAddress(j) {
			return j, nil
		}
	}
	return 0, errors.New("not an address of a member")
}

const socksConnect, socksIPv4 = 1, 1

// grantSOCKS says that the connection is there; from which address does not matter.
func grantSOCKS(conn net.Conn) error {
	_, err := conn.Write([]byte{5, 0, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// A far passes on what is written to it after a delay, in order.
type far struct {
	to     io.Writer
	delay  *atomic.Int64
	queue  chan parcel
	failed chan struct{} // closed when a write to the other end has failed
	done   chan struct{} // closed when all is passed on
	err    error         // set before failed is closed
}

type parcel struct {
	bytes []byte
	due   time.Time
}

func newFar(to io.Writer, delay *atomic.Int64) *far {
	f := &far{
		to: to, delay: delay, queue: make(chan parcel, 1024), failed: make(chan struct{}), done: make(chan struct{}),
	}
	go f.run()
	return f
}

func (f *far) run() {
	defer close(f.done)
	for p := range f.queue {
		time.Sleep(time.Until(p.due))
		if _, f.err = f.to.Write(p.bytes); f.err != nil {
			close(f.failed)
			return
		}
	}
}

func (f *far) Write(b []byte) (int, error) {
	select {
	case f.queue <- parcel{slices.Clone(b), time.Now().Add(time.Duration(f.delay.Load()))}:
		return len(b), nil
	case <-f.failed:
		return 0, f.err
	}
}

// end waits until everything is passed on.
func (f *far) end() {
	close(f.queue)
	<-f.done
}

// A Link is a way from one client to all members. It ends with the cluster.
type Link struct {
	network   *network
	endpoints []string
	cut       bool
	delay     atomic.Int64 // of each direction
}

func (n *network) link() (*Link, error) {
	l := &Link{network: n}
	for i := range n.cut {
		address, err := n.listen(n.toMember(i, func() bool { return !l.cut && n.cut[i]&Clients == 0 }, &l.delay))
		if err != nil {
			return nil, err
		}
		l.endpoints = append(l.endpoints, "http://"+address)
	}
	return l, nil
}

// Endpoints returns where the client reaches the members, in their order.
func (l *Link) Endpoints() []string { return l.endpoints }

// Cut stops all bytes between the client and the members until Heal.
func (l *Link) Cut() {
	l.network.change(func() { l.cut = true })
}

// Heal undoes Cut. What was sent meanwhile arrives.
func (l *Link) Heal() {
	l.network.change(func() { l.cut = false })
}

// Delay has everything take roundTrip longer to the members and back, from now on.
func (l *Link) Delay(roundTrip time.Duration) { l.delay.Store(int64(roundTrip / 2)) }
