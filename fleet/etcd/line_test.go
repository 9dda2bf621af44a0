package etcd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/store"
)

func exports() *line {
	return New(clientv3.NewCtxClient(context.Background()), "ns").Line("semaphore", "exports").(*line)
}

// A size is often written by hand, and then ends with a newline: echo 40 | etcdctl put <key>.
func TestASizeMayHaveWhiteSpace(t *testing.T) {
	s := exports()
	for value, size := range map[string]int64{
		"40": 40, "40\n": 40, " 40\r\n": 40, "\t40 ": 40, "4 0": 0, "\n": 0, "40\x00": 0, "-40\n": 0,
	} {
		kv := &mvccpb.KeyValue{Key: []byte(s.sizeKey()), Value: []byte(value), ModRevision: 3}
		require.Equal(t, size, s.state(9, []*mvccpb.KeyValue{kv}).Size, "%q", value)
	}
}

// A line that is read and one that is watched say the same of the size.
func TestAStateKnowsWhenItsSizeWasWritten(t *testing.T) {
	s := exports()
	size := func(value string, rev int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(s.sizeKey()), Value: []byte(value), CreateRevision: 3, ModRevision: rev}
	}
	read := s.state(9, []*mvccpb.KeyValue{size("2", 9)})
	require.Equal(t, store.State{Rev: 9, Size: 2, SizeMod: 9}, read)
	watched := s.state(8, []*mvccpb.KeyValue{size("4", 3)})
	change, ok := parse("size", size("2", 9))
	require.True(t, ok)
	watched.Apply(9, change)
	require.Equal(t, read, watched)
}

// An entry has one key, with digits in lower case. Another spelling would be a second entry with
// the same lease and number.
func TestAnEntryHasOneKey(t *testing.T) {
	s := exports()
	entries := func(keys ...string) int {
		var kvs []*mvccpb.KeyValue
		for _, k := range keys {
			kvs = append(kvs, &mvccpb.KeyValue{
				Key: []byte(s.prefix + "q/" + k), Value: []byte("1"), Lease: 0xab, CreateRevision: 3, ModRevision: 3,
			})
		}
		return len(s.state(9, kvs).Entries)
	}
	require.Equal(t, 1, entries("00000000000000ab/000000000000000c"))
	require.Zero(t, entries(
		"00000000000000AB/000000000000000c", "00000000000000ab/000000000000000C", "00000000000000aB/000000000000000C",
		"ab/c", "+0000000000000ab/000000000000000c", "0x000000000000ab/000000000000000c",
		"00000000000000ac/000000000000000c", // another process's lease
	))
}
