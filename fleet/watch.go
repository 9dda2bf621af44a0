package fleet

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A revision is all changes of a line at one revision, or the line as a whole.
type revision struct {
	rev     int64
	changes []line.Change
	whole   *line.State
	asked   known // before the whole was asked for
	writes  bool  // it was asked for in a way that needs the right to write
}

// A feed is a watch of all keys with a prefix, for the drivers of the lines there. A process has
// one, of its namespace, however many lines it has opened. Changes of other lines arrive, too, and
// are dropped.
//
// If etcd refuses that watch, because a role covers single lines only, each line has a feed of its
// own meanwhile. See apart.
//
// Invariants:
//
//  1. A driver that has joined is passed each change of its line after the feed's revision, in
//     order. It gets that revision: what it had read before may be older, and then changes are
//     missing. (TestDriversKnowTheirLines)
//  2. All changes of a line at one revision are passed on at once.
//     (TestDriversKnowTheirLines)
//  3. If changes cannot be had any more, the drivers learn up to which revision they miss some.
//     (TestDriversKnowTheirLines)
//  4. What is passed on waits for no driver. (TestADriverThatIsLate)
//  5. What is passed on says how often the servers had gone back. If they go back once more, the
//     feed begins anew at a revision that was read afterwards. (TestServersThatGoBackAreNoticed,
//     TestChangesOfAnotherHistoryWait)
type feed struct {
	fleet  *Fleet
	space  int     // length of the namespace, with its slash
	prefix string  // of the keys that are watched
	only   *driver // of a part: the line's

	start chan struct{} // closed when rev is set
	other atomic.Int64  // the revision of the last answer that did not come by the watch
	news  chan struct{} // there was another one
	again chan struct{} // the servers have gone back
	done  chan struct{} // closed when run has ended

	mu    sync.Mutex
	rev   int64                // what was changed up to it was passed on; 0: no line was opened
	age   int64                // how often the servers had gone back then
	lines map[string][]*driver // by the prefix of their keys
	split *parts               // the lines' feeds, while the whole is refused
}

func newFeed(f *Fleet) *feed {
	prefix := f.namespace + "/"
	return &feed{
		fleet: f, space: len(prefix), prefix: prefix,
		start: make(chan struct{}), news: make(chan struct{}, 1), again: make(chan struct{}, 1),
		done: make(chan struct{}), lines: make(map[string][]*driver),
	}
}

// join has d be passed the changes of its line. What is known is from before that.
func (fd *feed) join(d *driver, at known) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.rev == 0 {
		fd.rev, fd.age = at.rev, at.age
		close(fd.start)
	}
	fd.lines[d.store.prefix] = append(fd.lines[d.store.prefix], d)
	d.miss(known{fd.age, fd.rev})
	if fd.split != nil {
		fd.split.add(d, at)
	}
}

// leave ends what join has begun.
func (fd *feed) leave(d *driver) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	all := slices.DeleteFunc(fd.lines[d.store.prefix], func(o *driver) bool { return o == d })
	if fd.lines[d.store.prefix] = all; len(all) == 0 {
		delete(fd.lines, d.store.prefix)
	}
	if fd.split != nil {
		fd.split.drop(d)
	}
}

// heard is called with the revision of an answer that did not come by the watch. If the watch has
// not got there it may hang. If it is past that, the servers may have gone back.
func (fd *feed) heard(rev int64) {
	fd.other.Store(rev)
	signal(fd.news)
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.split != nil {
		for _, p := range fd.split.feeds {
			p.heard(rev)
		}
	}
}

// beginAgain is called when the servers have gone back.
func (fd *feed) beginAgain() {
	signal(fd.again)
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.split != nil {
		for _, p := range fd.split.feeds {
			p.beginAgain()
		}
	}
}

// run passes changes on until ctx is done.
func (fd *feed) run(ctx context.Context) {
	defer close(fd.done)
	select {
	case <-fd.start:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		fd.goOn(ctx, fd.stream(ctx))
	}
}

// goOn waits until a server that works says which revision is the newest. If changes up to it
// cannot be had any more, the lines are read again.
func (fd *feed) goOn(ctx context.Context, compacted bool) {
	for ctx.Err() == nil {
		at := fd.known()
		age := fd.fleet.age.Load()
		now, err := fd.now(ctx)
		switch {
		case err == nil && age == at.age && now < at.rev:
			fd.fleet.wentBack(age)
			continue // what is the newest may be of before somebody else has noticed that
		case err == nil && (compacted || age != at.age):
			fd.skip(known{age, now})
			fallthrough
		case err == nil:
			if fd.only != nil {
				fd.only.readable()
			}
			return
		case isRefusal(err) && fd.only == nil:
			fd.apart(ctx)
			continue // where the whole was: what the parts have passed on is known then
		case isRefusal(err):
			fd.only.tellRefusal(denial{err, true})
		}
		pause(ctx, retryAfter(err, fd.fleet.askRefusedAfter()))
	}
}

// now returns the newest revision, linearizably.
func (fd *feed) now(ctx context.Context) (int64, error) {
	var r *clientv3.GetResponse
	_, err := fd.fleet.patience.once(ctx, func(ctx context.Context) (err error) {
		r, err = fd.fleet.client.Get(
			ctx,
			fd.prefix,
			clientv3.WithPrefix(),
			clientv3.WithLimit(1),
			clientv3.WithKeysOnly(),
		)
		return err
	})
	if err != nil {
		return 0, err
	}
	return r.Header.GetRevision(), nil
}

func (fd *feed) known() known {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	return known{fd.age, fd.rev}
}

// skip begins anew at what is known now.
func (fd *feed) skip(now known) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.rev, fd.age = now.rev, now.age
	for _, ds := range fd.lines {
		for _, d := range ds {
			d.miss(now)
		}
	}
}

// watches counts the streams of watches.
var watches atomic.Int64

// stream watches until the stream fails, or the member has no leader, and reports whether changes
// since were compacted. It ends if the member has not got where the stream was: it is late, or the
// servers have gone back. Neither gRPC nor the client notices a server that hangs. So it is asked
// for a sign of life if another answer had a revision at which the watch has not arrived, or if
// there was no news for long. The client would give another watch the same stream, although it
// hangs: so each has metadata of its own.
func (fd *feed) stream(ctx context.Context) (compacted bool) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(
		clientv3.WithRequireLeader(ctx), "farad-watch", strconv.FormatInt(watches.Add(1), 10)))
	defer cancel()
	late := time.AfterFunc(fd.fleet.patience.limit(), cancel) // Watch waits for the server
	at := fd.known()
	if at.age != fd.fleet.age.Load() {
		return false
	}
	rev := at.rev
	events := fd.fleet.client.Watch(ctx, fd.prefix, clientv3.WithPrefix(), clientv3.WithRev(rev+1))
	late.Stop()
	quiet := time.NewTimer(3 * fd.fleet.ttl)
	defer quiet.Stop()
	for asked := false; ; {
		select {
		case r, ok := <-events:
			if !ok {
				return false
			}
			if err := r.Err(); err != nil {
				return errors.Is(err, rpctypes.ErrCompacted)
			}
			if r.Header.GetRevision() < rev {
				return false
			}
			rev = fd.pass(&r)
			asked = false
			quiet.Reset(3 * fd.fleet.ttl)
			continue
		case <-fd.news:
			if asked || fd.other.Load() == rev {
				continue
			}
		case <-fd.again:
			return false
		case <-quiet.C:
			if asked {
				return false
			}
		}
		once, cancel := context.WithTimeout(ctx, fd.fleet.patience.limit())
		err := fd.fleet.client.RequestProgress(once)
		cancel()
		if err != nil {
			return false
		}
		asked = true
		quiet.Reset(max(fd.fleet.ttl/6, fd.fleet.patience.limit()))
	}
}

// pass passes on what the watch has brought, and returns the revision at which it is now.
func (fd *feed) pass(r *clientv3.WatchResponse) int64 {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	for events := r.Events; len(events) > 0; {
		rev := events[0].Kv.ModRevision
		n := slices.IndexFunc(events, func(e *clientv3.Event) bool { return e.Kv.ModRevision != rev })
		if n < 0 {
			n = len(events)
		}
		fd.passLocked(rev, events[:n])
		fd.rev = max(fd.rev, rev)
		events = events[n:]
	}
	if r.IsProgressNotify() {
		fd.rev = max(fd.rev, r.Header.GetRevision())
	}
	return fd.rev
}

// passLocked passes on what was changed at rev. The end of a lease concerns many lines at once.
func (fd *feed) passLocked(rev int64, events []*clientv3.Event) {
	slices.SortFunc(events, func(a, b *clientv3.Event) int { return bytes.Compare(a.Kv.Key, b.Kv.Key) })
	for len(events) > 0 {
		prefix := fd.lineOf(events[0].Kv.Key)
		n := 1
		for n < len(events) && bytes.HasPrefix(events[n].Kv.Key, prefix) {
			n++
		}
		for _, d := range fd.lines[string(prefix)] {
			d.pass(known{fd.age, rev}, events[:n])
		}
		events = events[n:]
	}
}

// lineOf returns the prefix of all keys of the line that a key is of: namespace, kind and name. Of
// a key of no line it returns the key.
func (fd *feed) lineOf(key []byte) []byte {
	end := fd.space
	for range 2 {
		i := bytes.IndexByte(key[end:], '/')
		if i < 0 {
			return key
		}
		end += i + 1
	}
	return key[:end]
}

// Parts are feeds of one line each. They are for a role that covers single lines: etcd then refuses
// the watch of all. They cost a stream a line, as their guide says.
type parts struct {
	whole   *feed
	ctx     context.Context //nolint:containedctx // of all of them
	feeds   map[*driver]*feed
	stops   map[*driver]context.CancelFunc
	running sync.WaitGroup
}

// apart has each line have a feed of its own, until the whole is not refused any more.
func (fd *feed) apart(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &parts{whole: fd, ctx: ctx, feeds: make(map[*driver]*feed), stops: make(map[*driver]context.CancelFunc)}
	fd.mu.Lock()
	fd.split = p
	for _, ds := range fd.lines {
		for _, d := range ds {
			p.add(d, known{fd.age, fd.rev})
		}
	}
	fd.mu.Unlock()
	for err := error(rpctypes.ErrPermissionDenied); err != nil && ctx.Err() == nil; {
		pause(ctx, 4*fd.fleet.ttl)
		_, err = fd.now(ctx)
	}
	fd.mu.Lock()
	fd.split = nil
	for _, ds := range fd.lines {
		for _, d := range ds {
			d.readable()
		}
	}
	fd.mu.Unlock()
	cancel()
	p.running.Wait()
}

// add starts the feed of a line after what is known. The lock of the whole is held.
func (p *parts) add(d *driver, at known) {
	one := newFeed(p.whole.fleet)
	one.prefix, one.only = d.store.prefix, d
	one.join(d, at)
	ctx, stop := context.WithCancel(p.ctx)
	p.feeds[d], p.stops[d] = one, stop
	p.running.Go(func() { one.run(ctx) })
}

func (p *parts) drop(d *driver) {
	if stop := p.stops[d]; stop != nil {
		stop()
	}
	delete(p.feeds, d)
	delete(p.stops, d)
}
