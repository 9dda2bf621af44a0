package fleet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/internal/clock"
)

// A memory is an etcd in memory: keys, reads of them, and watches. Its members hang, it compacts,
// and it refuses what a role does not allow.
type memory struct {
	clientv3.KV
	clientv3.Watcher
	*testing.T
	client *clientv3.Client
	asked  atomic.Int64 // reads under way

	mu       sync.Mutex
	changed  chan struct{} // closed at each change
	rev      int64
	keys     map[string]*mvccpb.KeyValue
	log      []*clientv3.Event
	compact  int64 // events up to here are gone
	allowed  func(key string) bool
	hung     int            // watches that began up to this one hang
	streams  int            // watches that were begun
	open     map[string]int // of those that are open, by prefix
	progress int            // signs of life that were asked for
	reads    int            // of single lines
}

func newMemory(t *testing.T) *memory {
	m := &memory{
		T: t, changed: make(chan struct{}), rev: 100,
		keys: make(map[string]*mvccpb.KeyValue), open: make(map[string]int),
		allowed: func(string) bool { return true },
	}
	m.client = clientv3.NewCtxClient(t.Context())
	m.client.KV, m.client.Watcher = m, m
	return m
}

func (m *memory) changedLocked() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// put writes the keys at one revision, or deletes those whose value is empty.
func (m *memory) put(keys ...string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rev++
	for _, k := range keys {
		key, value, _ := strings.Cut(k, "=")
		kv := &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), CreateRevision: m.rev, ModRevision: m.rev}
		if before := m.keys[key]; before != nil {
			kv.CreateRevision = before.CreateRevision
		}
		if i := strings.Index(key, "/q/"); i >= 0 {
			_, err := fmt.Sscanf(key[i:], "/q/%16x/", &kv.Lease)
			require.NoError(m, err)
		}
		e := &clientv3.Event{Type: clientv3.EventTypePut, Kv: kv}
		if m.keys[key] = kv; value == "" {
			delete(m.keys, key)
			e = &clientv3.Event{
				Type: clientv3.EventTypeDelete,
				Kv:   &mvccpb.KeyValue{Key: []byte(key), ModRevision: m.rev},
			}
		}
		m.log = append(m.log, e)
	}
	m.changedLocked()
	return m.rev
}

// counts returns the revision, and how many watches were begun and lines read.
func (m *memory) counts() (rev int64, streams, reads int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rev, m.streams, m.reads
}

// hang has the watches that are there hang.
func (m *memory) hang() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hung = m.streams
}

// forget compacts all that was, and ends the watches.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compact = m.rev
	m.hung = m.streams
	m.changedLocked()
}

func (m *memory) allow(allowed func(string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.allowed = allowed
}

func (m *memory) Get(_ context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	m.asked.Add(1)
	defer m.asked.Add(-1)
	defer time.Sleep(time.Millisecond) // the answer is old when it arrives
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.allowed(key) {
		return nil, rpctypes.ErrPermissionDenied
	}
	r := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: m.rev}}
	op := clientv3.OpGet(key, opts...)
	if op.IsKeysOnly() {
		return r, nil
	}
	m.reads++
	for k, kv := range m.keys {
		if strings.HasPrefix(k, key) {
			r.Kvs = append(r.Kvs, kv)
		}
	}
	slices.SortFunc(r.Kvs, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return r, nil
}

func (m *memory) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	m.mu.Lock()
	defer m.mu.Unlock()
	op := clientv3.OpGet(key, opts...)
	out := make(chan clientv3.WatchResponse)
	m.streams++
	go m.serve(ctx, m.streams, key, op.Rev(), m.allowed(key), out)
	return out
}

// serve is a watch.
func (m *memory) serve(
	ctx context.Context, number int, prefix string, from int64, allowed bool, out chan<- clientv3.WatchResponse,
) {
	defer close(out)
	m.mu.Lock()
	m.open[prefix]++
	progress := m.progress
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.open[prefix]--
	}()
	for {
		changed, r := m.changed, clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: m.rev}}
		hangs := number <= m.hung
		for _, e := range m.log {
			if e.Kv.ModRevision >= from && strings.HasPrefix(string(e.Kv.Key), prefix) {
				r.Events = append(r.Events, e)
			}
		}
		switch {
		case !allowed:
			r = clientv3.WatchResponse{Canceled: true, CancelReason: "no role"}
		case from <= m.compact:
			r = clientv3.WatchResponse{Canceled: true, CompactRevision: m.compact + 1}
		}
		send := !hangs && (len(r.Events) > 0 || r.Canceled || progress < m.progress)
		m.mu.Unlock()
		if send {
			select {
			case out <- r:
			case <-ctx.Done():
			}
			if r.Canceled {
				return
			}
			from = max(from, r.Header.GetRevision()+1)
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
		m.mu.Lock()
		if send {
			progress = m.progress
		}
	}
}

func (m *memory) RequestProgress(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress++
	m.changedLocked()
	return nil
}

// goBack has the servers be as they were at a revision, of which nothing is left but the keys.
func (m *memory) goBack(rev int64, keys map[string]*mvccpb.KeyValue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rev, m.keys, m.log = rev, keys, nil
}

// member returns a process whose session is over: its drivers only know the lines.
func (m *memory) member(ttl time.Duration) *Fleet {
	f := &Fleet{
		client: m.client, namespace: "ns", ttl: ttl, drivers: make(map[string]*driver),
		turns: make(chan struct{}, mostRequests), patience: newPatience(ttl),
	}
	f.ctx, f.stop = context.WithCancel(m.Context())
	s := newSession(1, clock.Now(), ttl)
	s.lose()
	f.session.Store(s)
	f.feed = newFeed(f)
	go f.feed.run(f.ctx)
	return f
}

// quit ends the driver, whatever is left.
func (d *driver) quit() {
	d.stop()
	d.wake()
}

// leave ends all goroutines of f.
func (m *memory) leave(f *Fleet) {
	f.stop()
	f.mu.Lock()
	all := slices.Collect(mapValues(f.drivers))
	f.mu.Unlock()
	for _, d := range all {
		d.quit()
		<-d.done
	}
	<-f.feed.done
}

func mapValues[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// opens opens a line whose kind needs no write.
func (m *memory) opens(f *Fleet, name string) *driver {
	d, err := f.open(m.Context(), kindMutex, name, 1)
	require.NoError(m, err)
	return d
}

// entry is a key of an entry.
func entry(space, name string, lease, weight int) string {
	value := ""
	if weight > 0 {
		value = fmt.Sprint(weight)
	}
	return fmt.Sprintf("%s/mutex/%s/q/%016x/%016x=%s", space, name, lease, 1, value)
}

// knows waits until d has all that is in its line, and fails if that takes longer than within.
func (m *memory) knows(d *driver, within time.Duration) {
	m.Helper()
	for end := time.Now().Add(within); ; {
		synctest.Wait()
		is, err := d.store.read(m.Context())
		require.NoError(m, err)
		d.seen.Lock()
		state := d.state.Clone()
		d.seen.Unlock()
		same := slices.Equal(is.Entries, state.Entries)
		if same {
			return
		}
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(end) {
			require.Equal(m, is.Entries, state.Entries, "line %s, known at %d, is at %d", d.name, state.Rev, is.Rev)
		}
	}
}

// Whatever happens to the watch, each driver comes to know its line: no change is missed, and none
// of another line is taken for one of it.
func TestDriversKnowTheirLines(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 32))
			m := newMemory(t)
			f := m.member(5 * time.Second)
			defer m.leave(f)
			names := []string{"a", "b", "c", "a/b"}
			var opening sync.WaitGroup
			var mu sync.Mutex
			open := map[string]*driver{} // guarded by mu
			weights := map[string]int{}
			for range 60 {
				time.Sleep(time.Duration(rng.IntN(3)) * 400 * time.Microsecond)
				name := names[rng.IntN(len(names))]
				switch n := rng.IntN(20); {
				case n < 2:
					opening.Go(func() {
						d := m.opens(f, name)
						mu.Lock()
						defer mu.Unlock()
						open[name] = d
					})
				case n == 2:
					opening.Wait()
					if d := open[name]; d != nil {
						d.quit()
						<-d.done
						delete(open, name)
					}
				case n == 3:
					m.forget()
				case n == 4:
					m.hang()
				case n == 5:
					time.Sleep(time.Duration(rng.IntN(10)) * time.Second)
				case n == 6:
					rev, _, _ := m.counts()
					f.feed.heard(rev)
				case n == 7: // more than an inbox takes
					for range rng.IntN(2 * mostRevisions) {
						m.put(entry("ns", "a", 7, 1+rng.IntN(5)))
					}
					weights["a7"] = 1
				case n == 8: // the role covers single lines
					m.allow(func(key string) bool { return strings.Count(key, "/") > 2 })
				case n == 9:
					m.allow(func(string) bool { return true })
				default: // in several lines at one revision, as at the end of a lease
					var keys []string
					for _, of := range names[:1+rng.IntN(len(names))] {
						for range 1 + rng.IntN(2) {
							lease := 1 + rng.IntN(5)
							weight := rng.IntN(3)
							if k := of + fmt.Sprint(lease); weights[k] != weight {
								weights[k] = weight
								keys = append(keys, entry("ns", strings.ReplaceAll(of, "/", "%2F"), lease, weight))
							}
						}
					}
					keys = unique(keys)
					rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
					if keys = append(keys, entry("ns/mutex/a", "b", 1, 1)); len(keys) > 0 {
						m.put(keys...)
					}
				}
			}
			time.Sleep(time.Minute)
			opening.Wait()
			for _, d := range open {
				m.knows(d, 0)
			}
		})
	}
}

// unique keeps the last of each key.
func unique(keys []string) (u []string) {
	key := func(k string) string { k, _, _ = strings.Cut(k, "="); return k }
	for i, k := range keys {
		if !slices.ContainsFunc(keys[i+1:], func(o string) bool { return key(o) == key(k) }) {
			u = append(u, k)
		}
	}
	slices.SortFunc(u, cmp.Compare[string])
	return u
}

// A watch that hangs is noticed by the next renewal: what was written meanwhile arrives within half
// a TTL, as if the watch had been asked for a sign of life four times in a TTL. While nothing is
// written, it is asked seldom.
func TestAWatchThatHangs(t *testing.T) {
	const ttl = 6 * time.Second
	for phase := range 8 {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(t)
			f := m.member(ttl)
			defer m.leave(f)
			d := m.opens(f, "a")
			go func() {
				for ; f.ctx.Err() == nil; pause(f.ctx, ttl/3) {
					rev, _, _ := m.counts()
					f.feed.heard(rev)
				}
			}()
			time.Sleep(time.Minute)
			m.mu.Lock()
			require.LessOrEqual(t, m.progress, int(time.Minute/(3*ttl))+1, "signs of life at rest")
			m.mu.Unlock()
			time.Sleep(time.Duration(phase) * ttl / 24)
			m.hang()
			m.put(entry("ns", "a", 1, 1))
			m.knows(d, ttl/2+10*time.Millisecond)
			_, streams, _ := m.counts()
			require.Equal(t, 2, streams)

			m.hang()
			time.Sleep(time.Minute) // nothing is written
			_, streams, _ = m.counts()
			require.Greater(t, streams, 2, "a hang at rest is noticed, too")
		})
	}
}

// A role that covers single lines does, for a stream a line. Once it covers all there is one again.
func TestARoleForSingleLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		open := func(whole, a, b, c int) {
			t.Helper()
			time.Sleep(time.Minute)
			m.mu.Lock()
			defer m.mu.Unlock()
			require.Equal(t, []int{whole, a, b, c},
				[]int{m.open["ns/"], m.open["ns/mutex/a/"], m.open["ns/mutex/b/"], m.open["ns/mutex/c/"]})
		}
		m.allow(func(key string) bool { return strings.HasPrefix(key, "ns/mutex/") })
		a, b := m.opens(f, "a"), m.opens(f, "b")
		open(0, 1, 1, 0)
		c := m.opens(f, "c")
		open(0, 1, 1, 1)
		b.quit()
		open(0, 1, 0, 1)
		m.put(entry("ns", "a", 1, 1), entry("ns", "c", 2, 1))
		m.knows(a, 100*time.Millisecond)
		m.knows(c, 100*time.Millisecond)
		m.hang()
		m.put(entry("ns", "a", 1, 2))
		f.feed.heard(m.put("ns/other=1"))
		m.knows(a, 2*time.Second)

		m.allow(func(key string) bool { return strings.HasPrefix(key, "ns/mutex/a/") })
		m.hang()
		open(0, 1, 0, 0)
		require.ErrorIs(t, c.refusedSince(nil), rpctypes.ErrPermissionDenied)
		require.NoError(t, a.refusedSince(nil))

		m.allow(func(string) bool { return true })
		open(1, 0, 0, 0)
		m.put(entry("ns", "c", 1, 2))
		m.knows(c, 100*time.Millisecond)
	})
}

// A driver that is late holds up nobody, and takes no more memory than a few revisions.
func TestADriverThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		late, other := m.opens(f, "late"), m.opens(f, "other")
		synctest.Wait()
		late.in.mu.Lock()
		late.in.running = true // its goroutine gets no processor
		late.in.mu.Unlock()
		for i := range 10 * mostRevisions {
			m.put(entry("ns", "late", 1, i%2+1))
			synctest.Wait()
		}
		m.put(entry("ns", "other", 1, 1))
		m.knows(other, 0)
		late.in.mu.Lock()
		require.LessOrEqual(t, len(late.in.revisions), mostRevisions)
		late.in.mu.Unlock()
		_, _, reads := m.counts()
		go late.run()
		m.knows(late, 100*time.Millisecond)
		_, _, after := m.counts()
		require.LessOrEqual(t, after-reads, 4, "one read, and those of the test")
	})
}

// Servers go back to an older revision. Drivers of lines in which nothing happens know that as soon
// as an answer to anything else has the older revision, and then follow what happens there.
func TestServersThatGoBackAreNoticed(t *testing.T) {
	for _, single := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(t)
			f := m.member(5 * time.Second)
			defer m.leave(f)
			if single {
				m.allow(func(key string) bool { return strings.Contains(key, "/mutex/") })
			}
			a, b := m.opens(f, "a"), m.opens(f, "b")
			m.put(entry("ns", "a", 1, 1))
			m.knows(a, time.Second)
			rev, _, _ := m.counts()
			m.mu.Lock()
			kept := maps.Clone(m.keys)
			m.mu.Unlock()
			for i := range 10 {
				m.put(entry("ns", "b", i+2, 1), entry("ns", "a", i+2, 1))
			}
			m.knows(a, time.Second)
			m.knows(b, time.Second)
			m.goBack(rev, kept)
			f.feed.heard(rev)
			m.knows(a, time.Second)
			m.knows(b, time.Second)
			require.EqualValues(t, 1, f.age.Load())
			require.Equal(t, rev+10, a.status().Back.From)
			for i := range 12 {
				m.put(entry("ns", "b", i+20, 1))
				m.knows(b, 50*time.Millisecond)
			}
			m.put(entry("ns", "a", 1, 0))
			m.knows(a, 50*time.Millisecond)
			require.Nil(t, a.status().Back)
			require.EqualValues(t, 1, f.age.Load())
		})
	}
}

// What was passed on before the feed knows that the servers have gone back tells nothing to a
// driver that knows it, and what is passed on afterwards nothing to one that does not.
func TestChangesOfAnotherHistoryWait(t *testing.T) {
	d := alone(t, kindSemaphore, 4)
	d.miss(known{0, 100})
	d.pass(known{0, 101}, nil)
	all, missed := d.in.follow(known{1, 50})
	require.Empty(t, all)
	require.Zero(t, missed)
	d.miss(known{1, 60})
	d.pass(known{1, 61}, nil)
	all, missed = d.in.follow(known{0, 100})
	require.Empty(t, all)
	require.Zero(t, missed)
	_, missed = d.in.follow(known{1, 50})
	require.EqualValues(t, 60, missed)
	all, missed = d.in.follow(known{1, 60})
	require.Len(t, all, 1)
	require.Zero(t, missed)
}

// A driver that has ended has no read under way, and while it is refused what it misses it asks
// only now and then.
func TestADriverThatEndsWaitsForItsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		d := m.opens(f, "a")
		synctest.Wait() // the watch has begun
		rev, _, _ := m.counts()
		asked := 0
		m.allow(func(string) bool { asked++; return false })
		d.miss(known{rev: rev + 1})
		time.Sleep(10 * time.Second)
		m.mu.Lock()
		require.InDelta(t, 8, asked, 4)
		m.mu.Unlock()
		for m.asked.Load() == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		d.quit()
		<-d.done
		require.Zero(t, m.asked.Load())
	})
}
