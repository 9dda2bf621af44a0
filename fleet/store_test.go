package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A size is often written by hand, and then ends with a newline: echo 40 | etcdctl put <key>.
func TestASizeMayHaveWhiteSpace(t *testing.T) {
	s := newStore(nil, "ns", kindSemaphore, "exports", 0, nil)
	for value, size := range map[string]int64{
		"40": 40, "40\n": 40, " 40\r\n": 40, "\t40 ": 40, "4 0": 0, "\n": 0, "40\x00": 0, "-40\n": 0,
	} {
		kv := &mvccpb.KeyValue{Key: []byte(s.sizeKey()), Value: []byte(value), ModRevision: 3}
		require.Equal(t, size, s.state(9, []*mvccpb.KeyValue{kv}).Size, "%q", value)
	}
}

// A line that is read and one that is watched say the same of the size.
func TestAStateKnowsWhenItsSizeWasWritten(t *testing.T) {
	s := newStore(nil, "ns", kindSemaphore, "exports", 0, nil)
	size := func(value string, rev int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(s.sizeKey()), Value: []byte(value), CreateRevision: 3, ModRevision: rev}
	}
	read := s.state(9, []*mvccpb.KeyValue{size("2", 9)})
	require.Equal(t, line.State{Rev: 9, Size: 2, SizeMod: 9}, read)
	watched := s.state(8, []*mvccpb.KeyValue{size("4", 3)})
	change, ok := s.parse(size("2", 9))
	require.True(t, ok)
	watched.Apply(9, change)
	require.Equal(t, read, watched)
}
