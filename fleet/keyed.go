package fleet

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
)

// A Keyed is a counting semaphore for each key, as one for each tenant: "at most 5 exports of a
// tenant, over all workers". It is to [Semaphore] what package sync/keyed is to sync/semaphore. A
// key is any text, and needs no registration. Permits can be lost, and only their [Permit] knows
// that. So Acquire and TryAcquire return one, and its Release gives them back.
//
//	exports, err := f.Keyed(ctx, "exports", 5)
//	p, err := exports.Acquire(ctx, tenant, 1)
//	defer p.Release()
//
// With size 1 it is a mutex for each key. It is a read-write lock for each key if a reader acquires
// 1 and a writer the whole Size, which then is the most readers at a time. Requests are served in
// order, so neither starves. Keys of such a lock must not be resized.
//
// A key costs nothing, in the store and in this process, while nobody holds or wants it. So it
// keeps no permits for the next acquire as a Semaphore does, but for the tenure, 20 ms at most: a
// first acquire is one round trip and one write, and so is the return. Goroutines of a process that
// wait for one key hand its permits on without the network. All keys share the process's one watch.
//
// Each key has size permits, unless it was given others by Resize. All processes must pass the same
// size: while they differ, as during an upgrade, at most the largest is held, and resources may
// refuse valid tokens.
type Keyed struct {
	fleet *Fleet
	name  string
	size  int64

	mu     sync.Mutex
	keys   map[string]*key // that are in use, or were a short time ago
	closed bool
}

// A key is one that is in use. Its fields are guarded by mu of its Keyed.
//
// Invariants:
//
//  1. A key that is held or waited for is in keys, with an open driver unless the Keyed or its
//     Fleet is closed. So no request is ended because a key is dropped. (fleettest: KeysComeAndGo)
//  2. A key that nobody holds or wants is dropped after the tenure. (TestKeysLeaveNothing)
type key struct {
	of     *Keyed
	name   string
	d      *driver
	users  int   // calls that are under way, and Permits that hold some, lost or not
	unused int64 // how often it has become unused
}

// Keyed returns the semaphores of the fleet that have that name. In one process the first size
// counts. It asks the store once, and keeps nothing there. Keyed panics if size is negative.
func (f *Fleet) Keyed(ctx context.Context, name string, size int64) (*Keyed, error) {
	if size < 0 {
		panic("fleet: negative size")
	}
	if name == "" {
		return nil, errors.New("fleet: a " + kindKeyed + " needs a name")
	}
	k := &Keyed{fleet: f, name: name, size: min(size, MaxPermits), keys: make(map[string]*key)}
	r, age := k.remote(""), f.age.Load()
	first, err := f.first(ctx, r, kindKeyed, name, size) // may it be read, and what is the revision now
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, ErrClosed
	}
	if o := f.keyed[name]; o != nil {
		return o, nil
	}
	f.keyed[name] = k
	f.feed.begin(known{age, first.Rev})
	return k, nil
}

// line is the name of a key's line. No two keys of any two names have the same.
func (k *Keyed) line(name string) string { return url.PathEscape(k.name) + "/" + name }

func (k *Keyed) remote(name string) *remote {
	r := newRemote(&k.fleet.membership, kindKeyed, k.line(name))
	r.usual = k.size
	return r
}

// enter returns a key, with one more call under way.
func (k *Keyed) enter(name string) (*key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, ErrClosed
	}
	e := k.keys[name]
	if e == nil {
		e = &key{of: k, name: name}
		d, err := k.fleet.openKey(k, e)
		if err != nil {
			return nil, err
		}
		e.d = d
		k.keys[name] = e
	}
	e.users++
	return e, nil
}

// openKey opens the line of a key. It asks nothing.
func (f *Fleet) openKey(k *Keyed, e *key) (*driver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, unread := k.line(e.name), store.State{Rev: line.Unread, Size: k.size}
	d, err := f.openLocked(kindKeyed, name, k.size, k.remote(e.name), unread, f.age.Load())
	if err == nil {
		d.released = e.leave
	}
	return d, err
}

// leave notes that a call has ended that acquired nothing, or that a Permit was released. If nobody
// uses the key then, it is dropped soon.
func (e *key) leave() {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.users--
	if e.users > 0 {
		return
	}
	e.unused++
	unused := e.unused
	drop := func() {
		e.of.mu.Lock()
		defer e.of.mu.Unlock()
		if e.users == 0 && e.unused == unused {
			e.dropLocked()
		}
	}
	if wait := min(e.of.fleet.tenure, DefaultTenure); wait > 0 && !e.of.closed {
		time.AfterFunc(wait, drop)
		return
	}
	e.dropLocked()
}

// dropLocked forgets the key and returns what it has. Nobody waits.
func (e *key) dropLocked() {
	if e.of.keys[e.name] == e {
		delete(e.of.keys, e.name)
	}
	e.d.close()
}

// use has acquire take permits of a key. Their Permit takes the place of the call among the users
// of the key.
func (k *Keyed) use(name string, acquire func(d *driver) (*Permit, error)) (p *Permit, err error) {
	e, err := k.enter(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p.N() == 0 { // even if a context panics
			e.leave()
		}
	}()
	return acquire(e.d)
}

// Acquire takes n permits of a key. It waits, and ends with an error, as [Semaphore.AcquirePermit]
// does. With an error the permit is nil.
func (k *Keyed) Acquire(ctx context.Context, key string, n int64) (*Permit, error) {
	return k.use(key, func(d *driver) (*Permit, error) { return d.acquirePermit(ctx, n) })
}

// TryAcquire takes n permits of a key if they are free in the fleet and nobody waits for them.
// Otherwise it returns ErrBusy. It asks, and ends with another error, as
// [Semaphore.TryAcquirePermit] does. With an error the permit is nil.
func (k *Keyed) TryAcquire(ctx context.Context, key string, n int64) (*Permit, error) {
	return k.use(key, func(d *driver) (*Permit, error) { return d.tryPermit(ctx, n) })
}

// Resize gives one key a size of its own, by one write, which the store keeps. It is as
// [Semaphore.Resize].
func (k *Keyed) Resize(ctx context.Context, key string, n int64) error {
	if n < 0 {
		panic("fleet: negative size")
	}
	return k.fleet.resize(ctx, k.remote(key), min(n, MaxPermits), 0)
}

// Size returns the number of permits that each key has that was not resized.
func (k *Keyed) Size() int64 { return k.size }

// Len returns the number of keys that this process holds or wants, or did within the tenure.
func (k *Keyed) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.keys)
}

// Close ends all waiting and all later requests of this process with ErrClosed. Permits that are
// held stay held until they are released. Fleet.Keyed opens the semaphores again.
func (k *Keyed) Close() {
	k.mu.Lock()
	k.closed = true
	var all []*driver
	for _, e := range k.keys {
		all = append(all, e.d)
	}
	k.mu.Unlock()
	for _, d := range all { // without k.mu: close wakes waiters
		d.close()
	}
	k.fleet.mu.Lock() // after that: lines that are opened again get drivers of their own
	defer k.fleet.mu.Unlock()
	if k.fleet.keyed[k.name] == k {
		delete(k.fleet.keyed, k.name)
	}
}
