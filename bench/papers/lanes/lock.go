package lanes

import (
	"context"
	"sync"
)

// Lanes is a Gate or a Separate.
type Lanes interface {
	Arrive(ctx context.Context, key uint64) error
	Depart(key uint64)
}

// A Lock is a lock behind lanes.
type Lock struct {
	inner sync.Locker
	lanes Lanes
	pick  func() uint64
	key   uint64 // the key of the holder's arrival; guarded by inner
}

// Wrap returns inner behind lanes, with keys from pick. Only the returned lock may lock inner or
// pass the lanes.
func Wrap(inner sync.Locker, lanes Lanes, pick func() uint64) *Lock {
	return &Lock{inner: inner, lanes: lanes, pick: pick}
}

// Lock locks l, and waits until it can. It allocates what the inner lock does.
func (l *Lock) Lock() {
	key := l.pick()
	_ = l.lanes.Arrive(context.Background(), key) // which is never done
	l.inner.Lock()
	l.key = key
}

// Unlock unlocks l. If l is not locked it does what the inner lock does.
func (l *Lock) Unlock() {
	key := l.key
	l.inner.Unlock()
	l.lanes.Depart(key)
}
