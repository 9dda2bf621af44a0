package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A line that is read and one that is watched say the same of the size.
func TestAStateKnowsWhenItsSizeWasWritten(t *testing.T) {
	s := newStore(nil, "ns", kindSemaphore, "exports", 0)
	size := func(value string, rev int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(s.sizeKey()), Value: []byte(value), CreateRevision: 3, ModRevision: rev}
	}
	read := s.state(9, []*mvccpb.KeyValue{size("2", 9)})
	require.Equal(t, line.State{Rev: 9, Size: 2, SizeMod: 9}, read)
	watched := s.state(8, []*mvccpb.KeyValue{size("4", 3)})
	for _, r := range s.revisions([]*clientv3.Event{{Kv: size("2", 9)}}) {
		watched.Apply(r.rev, r.changes...)
	}
	require.Equal(t, read, watched)
}
