package embedded

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// The election timeout decides on the least TTL of a lease, which is 1.5 times as long, rounded
// up to seconds: 1 s here. One member elects itself one timeout after its start.
const (
	heartbeatInterval = 10  // milliseconds
	electionTimeout   = 100 // milliseconds
)

// maxSocketPath is what every system allows for the path of a Unix socket: macOS has the least.
const maxSocketPath = 103

// A Server is an etcd in this process, a cluster of one member. Clients of this machine reach it at
// a Unix socket, which only the user of this process can open.
type Server struct {
	etcd     *embed.Etcd
	clients  clients
	lock     *fileutil.LockedFile
	endpoint string
	remove   []string // directories that Close removes
	close    sync.Once
	err      error // of Close
}

// clients ends what clients have under way. Otherwise etcd's Close may wait five seconds for
// watches and renewals: it stops its gRPC server gracefully, unless the listener happens to end
// first.
type clients struct {
	mu      sync.Mutex
	servers []*grpc.Server
}

// register returns a function for etcd that calls f, if there is one, and keeps the server. etcd
// calls it in a goroutine that serves, maybe after Start.
func (c *clients) register(f func(*grpc.Server)) func(*grpc.Server) {
	return func(server *grpc.Server) {
		if f != nil {
			f(server)
		}
		c.mu.Lock()
		c.servers = append(c.servers, server)
		c.mu.Unlock()
	}
}

func (c *clients) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		s.Stop()
	}
}

// An Option changes the configuration with which Start starts etcd. Its LogLevel, for one, is
// "panic" otherwise: etcd says only why it ends the process.
type Option func(*embed.Config)

// Start starts an etcd that keeps its data in dir, and returns when it serves. A server that is
// started in dir again has the data of the one before. One server uses a directory at a time.
//
// If dir is empty, the data are in a temporary directory, which Close removes. They are then not
// synced to the disk.
func Start(dir string, options ...Option) (s *Server, err error) {
	s = &Server{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("embedded etcd: %w", err), s.Close())
			s = nil
		}
	}()
	c := embed.NewConfig()
	if dir == "" {
		if dir, err = s.temporary(); err != nil {
			return s, err
		}
		c.UnsafeNoFsync = true
	} else if dir, err = filepath.Abs(dir); err != nil { // the socket outlives a change of the working directory
		return s, err
	} else if err = os.MkdirAll(dir, fileutil.PrivateDirMode); err != nil {
		return s, err
	}
	// etcd would take the socket away from a server that runs here, and then wait for its database.
	lock := filepath.Join(dir, "lock")
	if s.lock, err = fileutil.TryLockFile(lock, os.O_RDWR|os.O_CREATE, fileutil.PrivateFileMode); err != nil {
		return s, fmt.Errorf("%s: %w", dir, err)
	}
	socket := filepath.Join(dir, "client")
	if len(socket) > maxSocketPath {
		short, err := s.temporary()
		if err != nil {
			return s, err
		}
		socket = filepath.Join(short, "client")
	}
	s.endpoint = "unix://" + socket
	client := url.URL{Scheme: "unix", Path: socket}
	c.Dir = dir
	c.TickMs, c.ElectionMs = heartbeatInterval, electionTimeout
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls = nil // it has no peers; what it advertises to them only has to stay the same
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	c.LogLevel = "panic"
	for _, o := range options {
		o(c)
	}
	c.ServiceRegister = s.clients.register(c.ServiceRegister)
	if s.etcd, err = embed.StartEtcd(c); err != nil {
		return s, err
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		return s, nil
	case err = <-s.etcd.Err():
		return s, err
	}
}

// temporary makes a directory that Close removes.
func (s *Server) temporary() (string, error) {
	dir, err := os.MkdirTemp("", "etcd")
	if err == nil {
		s.remove = append(s.remove, dir)
	}
	return dir, err
}

// Endpoints returns where clients reach the server: the Endpoints of a clientv3.Config.
func (s *Server) Endpoints() []string {
	return []string{s.endpoint}
}

// Client returns a new client of the server. The caller closes it.
func (s *Server) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: s.Endpoints(), Logger: zap.NewNop()})
}

// Close ends the server, and with it the watches and renewals of its clients. Leases live on in the
// data: their time begins anew when a server starts in the same directory.
func (s *Server) Close() error {
	s.close.Do(func() {
		if s.etcd != nil {
			// At the same time: with TLS etcd serves by HTTP, and only its own Close keeps
			// clients from beginning anew what was ended.
			var stopping sync.WaitGroup
			stopping.Go(s.clients.stop)
			s.etcd.Close()
			stopping.Wait()
		}
		if s.lock != nil {
			s.err = s.lock.Close()
		}
		for _, dir := range s.remove {
			s.err = errors.Join(s.err, os.RemoveAll(dir))
		}
	})
	return s.err
}
