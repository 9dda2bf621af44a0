package etcd

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/farad-go/farad/fleet/store"
)

// A source is the keys of a namespace that begin with a prefix.
type source struct {
	client        *clientv3.Client
	space, prefix string // with a slash each
}

// Revision asks for a key, though nobody needs it: that needs the right to read the source.
func (s source) Revision(ctx context.Context) (int64, error) {
	r, err := s.client.Get(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return 0, marked(err)
	}
	return r.Header.GetRevision(), nil
}

// watches counts the streams of watches.
var watches atomic.Int64

var errEnded = errors.New("etcd: the watch has ended")

// Watch ends if the member has no leader. The client would give another watch the same stream,
// although it hangs: so each has metadata of its own.
func (s source) Watch(
	ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(
		clientv3.WithRequireLeader(ctx), "farad-watch", strconv.FormatInt(watches.Add(1), 10)))
	defer cancel()
	answers := s.client.Watch(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1))
	if err := ctx.Err(); err != nil {
		return err
	}
	if !yield(store.Update{Rev: after}) {
		return nil
	}
	var events []store.Event
	for {
		select {
		case r, ok := <-answers:
			if !ok {
				return errEnded
			}
			if err := r.Err(); err != nil {
				return marked(err)
			}
			if r.IsProgressNotify() && !yield(store.Update{Rev: r.Header.GetRevision()}) {
				return nil
			}
			for i, e := range r.Events {
				if line, c, ok := s.change(e.Kv); ok {
					events = append(events, store.Event{Line: line, Change: c})
				}
				if rev := e.Kv.ModRevision; i == len(r.Events)-1 || r.Events[i+1].Kv.ModRevision != rev {
					if !yield(store.Update{Rev: rev, Events: events}) {
						return nil
					}
					events = events[:0]
				}
			}
		case <-signs:
			if err := s.client.RequestProgress(ctx); err != nil {
				return err
			}
		}
	}
}

// change returns what an event changes, and in which line. Of a key of no line it reports false.
func (s source) change(kv *mvccpb.KeyValue) (line string, c store.Change, ok bool) {
	key := string(kv.Key[len(s.space):])
	end := strings.IndexByte(key, '/')
	if end < 0 {
		return "", c, false
	}
	n := strings.IndexByte(key[end+1:], '/')
	if n < 0 {
		return "", c, false
	}
	end += 1 + n
	c, ok = parse(key[end+1:], kv)
	return key[:end], c, ok
}
