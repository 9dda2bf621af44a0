package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
)

const (
	role = "etcd member"

	// The member listens at these sockets. Relative paths are always short enough.
	clientSocket, peerSocket = "client", "peer"

	// etcd allocates two segments at once, of 64 MB each: memory, where the data are in memory.
	segmentSize = 4 << 20
)

var _ child.Role[memberConfig] = runMember

// A memberConfig is what the process of a member has to know. The names are etcd's.
type memberConfig struct {
	Name, Dir, Sockets                   string
	AdvertiseClientURL, AdvertisePeerURL string
	InitialCluster                       string
	UnsafeNoFsync                        bool
	LogLevel                             string
}

func memberName(i int) string { return fmt.Sprintf("m%d", i) }

// runMember says "started" when etcd runs.
func runMember(ctx context.Context, m memberConfig, say func(any) error) error {
	client, err := url.Parse(m.AdvertiseClientURL)
	if err != nil {
		return err
	}
	peer, err := url.Parse(m.AdvertisePeerURL)
	if err != nil {
		return err
	}
	if err := os.Chdir(m.Sockets); err != nil {
		return err
	}
	wal.SegmentSizeBytes = segmentSize
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = m.Name, m.Dir, m.InitialCluster
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{{Scheme: "unix", Path: clientSocket}}, []url.URL{*client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{{Scheme: "unix", Host: peerSocket}}, []url.URL{*peer}
	c.EnableGRPCGateway = false
	c.UnsafeNoFsync = m.UnsafeNoFsync
	c.LogLevel = m.LogLevel
	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	if err := say("started"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil // the parent kills the members when it closes the cluster; it has died here
	case err := <-etcd.Err():
		return err
	}
}
