// Package model has the types that internal/xsync has under the tag interleave: they stand for
// those of sync/atomic, sync, signal and sleep.
//
// Without an [Explorer] each operation is the real one. With one it is a step: the explorer lets
// other threads run before it, and hears of its effect. That is all that these types know of
// explorers. The one there is, internal/interleave, imports this package, and only tests import
// that one. So nobody who vendors a lock gets it.
package model

import (
	"context"
	"math/rand/v2"
	"runtime"
)

// An Object is the head of every type here. Its fields are the explorer's.
type Object struct {
	Epoch   uint64 // the execution that it is of
	Version uint32 // changes of the value
	ID      int32  // within the execution
	Ready   bool   // a blocking operation would not block
}

// A Kind is what an operation does to an object.
type Kind uint8

// The kinds.
const (
	Read Kind = iota
	Write
)

// An Explorer decides which thread makes the next step. Except for the first three, each of its
// methods is the modelled operation of the same name.
type Explorer interface {
	// Step returns when the operation may be done. It returns false if that is no step: while a
	// scenario is set up, or a thread unwound.
	Step(o *Object, k Kind) bool
	// Done says what the operation has been, and whether it has changed the value. It reports
	// whether Say is to follow.
	Done(o *Object, k Kind, changed bool) bool
	Say(o *Object, what ...any)

	Lock(m *Mutex)
	TryLock(m *Mutex) bool
	Unlock(m *Mutex)
	Get(p *Pool) any
	Put(p *Pool, v any)

	Lend(s *Signal)
	Send(s *Signal)
	TrySend(s *Signal)
	Receive(s *Signal)
	TryReceive(s *Signal)
	ReceiveOr(s *Signal, done <-chan struct{}) bool
	Close(s *Signal)
	Wake(s *Sleeper, w Wakeups)
	Sleep(s *Sleeper, done <-chan struct{}, timed bool) Wakeups

	Yield()
	Cede()
	Now() int64
	Chance(p float64) bool
	Spin(i int) bool

	Watchable(ctx context.Context) bool
	AfterFunc(ctx context.Context, f func()) (stop func() bool, ok bool)
}

// The execution under way.
var (
	explorer Explorer // nil: there is none
	epoch    uint64
)

// Explore has e take the decisions of the execution with this number. With nil it ends.
func Explore(e Explorer, number uint64) { explorer, epoch = e, number }

// Yield stands in a loop that waits for others.
//
//go:norace
func Yield() {
	if e := explorer; e != nil {
		e.Yield()
		return
	}
	runtime.Gosched()
}

// Cede lets others run.
//
//go:norace
func Cede() {
	if e := explorer; e != nil {
		e.Cede()
		return
	}
	runtime.Gosched()
}

// Now is 0, unless the explorer has a clock.
//
//go:norace
func Now() int64 {
	if e := explorer; e != nil {
		return e.Now()
	}
	return 0
}

// Chance is true with probability p. A search tries both.
//
//go:norace
func Chance(p float64) bool {
	if e := explorer; e != nil {
		return e.Chance(p)
	}
	return rand.Float64() < p
}

// Spin reports whether a bounded wait without a sleep is to take its look number i.
//
//go:norace
func Spin(i int) bool {
	e := explorer
	return e != nil && e.Spin(i)
}

// Watchable reports whether ctx is a context of the explorer on which many waits may share one
// AfterFunc.
//
//go:norace
func Watchable(ctx context.Context) bool {
	e := explorer
	return e != nil && e.Watchable(ctx)
}

// AfterFunc has the end of ctx start f, if ctx is a context of the explorer. If not, ok is false.
//
//go:norace
func AfterFunc(ctx context.Context, f func()) (stop func() bool, ok bool) {
	if e := explorer; e != nil {
		return e.AfterFunc(ctx, f)
	}
	return nil, false
}
