package lanes

import (
	"context"
	"sync"
)

// Lanes are a Gate or a Separate.
type Lanes interface {
	Arrive(ctx context.Context, key uint64) error
	Depart(key uint64)
}

// A Lock is a lock behind lanes.
type Lock struct {
	inner sync.Locker
	lanes Lanes
	pick  func() uint64
	key   uint64 // with which the holder has arrived; guarded by inner
}

// Wrap returns inner behind lanes, whose arrivals have the keys that pick returns. Nobody else may
// lock inner, or pass the lanes.
func Wrap(inner sync.Locker, lanes Lanes, pick func() uint64) *Lock {
	return &Lock{inner: inner, lanes: lanes, pick: pick}
}

// Lock locks l, and waits for it if need be. It allocates what the inner lock does.
func (l *Lock) Lock() {
	key := l.pick()
	_ = l.lanes.Arrive(context.Background(), key) // which is never done
	l.inner.Lock()
	l.key = key
}

// Unlock unlocks l. If it is not locked it does what the inner lock does.
func (l *Lock) Unlock() {
	key := l.key
	l.inner.Unlock()
	l.lanes.Depart(key)
}
