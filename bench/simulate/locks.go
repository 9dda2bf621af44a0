package main

import (
	"context"
	"sync"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/bench/papers/lanes"
	"github.com/farad-go/farad/bench/papers/phased"
	ticketsemaphore "github.com/farad-go/farad/bench/papers/ticket"
	"github.com/farad-go/farad/internal/xsync"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// A kind is a lock to simulate.
type kind struct {
	name  string
	paper bool // as in the papers: a waiter spins for ever
	new   func(c cores) sync.Locker
}

var kinds = []kind{
	{"tas", true, func(c cores) sync.Locker { return &tas{c: c} }},
	{"tts", true, of(func() sync.Locker { return new(innerlocks.TTS) })},
	{"ticket", true, of(func() sync.Locker { return new(ticket) })},
	{"twa", true, of(func() sync.Locker { return newWaitingArray() })},
	{"mcs", true, of(func() sync.Locker { return new(innerlocks.MCS) })},
	{"reciprocating", true, of(func() sync.Locker { return new(innerlocks.Reciprocating) })},
	{"capacitor(tas)", true, func(c cores) sync.Locker { return &behind{inner: &tas{c: c}} }},
	{"capacitor(tts)", true, of(func() sync.Locker { return &behind{inner: new(innerlocks.TTS)} })},
	{"capacitor(mcs)", true, of(func() sync.Locker { return &behind{inner: new(innerlocks.MCS)} })},

	{"innerlocks.TTS", false, of(func() sync.Locker { return new(innerlocks.TTS) })},
	{"innerlocks.MCS", false, of(func() sync.Locker { return new(innerlocks.MCS) })},
	{"innerlocks.Reciprocating", false, of(func() sync.Locker { return new(innerlocks.Reciprocating) })},
	{"ticket.Semaphore", false, of(func() sync.Locker { return (*one)(ticketsemaphore.New(1)) })},
	{
		"twa.Semaphore",
		false,
		of(func() sync.Locker { return permit{twa.New(1, twa.WithWaitingArray(twa.NewArray(buckets)))} }),
	},
	{"semaphore.Semaphore", false, of(func() sync.Locker { return permit{semaphore.New(1)} })},
	{"mutex.Mutex", false, of(func() sync.Locker { return new(mutex.Mutex) })},
	{"capacitor.Wrap(TTS, 8)", false, of(func() sync.Locker { return capacitor.Wrap(new(innerlocks.TTS), platoon) })},
	{"lanes.Wrap(TTS, 4 lanes of 2)", false, func(c cores) sync.Locker {
		return lanes.Wrap(new(innerlocks.TTS), lanes.New(4, platoon/4), byTime(c))
	}},
	{"lanes.Wrap(TTS, 4 gates of 2)", false, func(c cores) sync.Locker {
		return lanes.Wrap(new(innerlocks.TTS), lanes.NewSeparate(4, platoon/4), byTime(c))
	}},
	{"capacitor.Wrap(TTS, 8, WithExpress(256))", false, of(func() sync.Locker {
		return capacitor.Wrap(new(innerlocks.TTS), platoon, capacitor.WithExpress(256))
	})},
	{"farad/sync.Mutex", false, of(func() sync.Locker { return new(farad.Mutex) })},
}

// byTime returns keys that are as good as random, and the same in every run of a simulation.
func byTime(c cores) func() uint64 { return func() uint64 { return uint64(c.Now()) } }

func of(create func() sync.Locker) func(cores) sync.Locker {
	return func(cores) sync.Locker { return create() }
}

const (
	buckets = 4096 // of waiting arrays
	platoon = 8
)

// permit makes a lock of a semaphore of one permit.
type permit struct {
	s interface {
		Acquire(ctx context.Context, n int64) error
		Release(n int64)
	}
}

func (p permit) Lock()   { _ = p.s.Acquire(context.Background(), 1) } // which is never done
func (p permit) Unlock() { p.s.Release(1) }

// one makes a lock of a ticket semaphore of one permit.
type one ticketsemaphore.Semaphore

func (l *one) Lock()   { (*ticketsemaphore.Semaphore)(l).Acquire(1) }
func (l *one) Unlock() { (*ticketsemaphore.Semaphore)(l).Release(1) }

// tas is a test-and-set lock without backoff: every poll is an exchange.
type tas struct {
	taken xsync.Uint32
	_     [60]byte
	c     cores
}

func (l *tas) Lock() {
	for l.taken.Swap(1) != 0 {
		l.c.Work(pause)
	}
}

func (l *tas) Unlock() { l.taken.Store(0) }

const pause = 40 // between two polls, as with interleave.Machine.Spinning

// ticket is the classic ticket lock: all waiters poll the same word.
type ticket struct {
	next xsync.Int64
	_    [56]byte
	now  xsync.Int64
	_    [56]byte
}

func (l *ticket) Lock() {
	mine := l.next.Add(1) - 1
	for l.now.Load() != mine {
		xsync.Yield()
	}
}

func (l *ticket) Unlock() { l.now.Add(1) }

// behind is a lock behind the gate of the capacitor's paper, Listing 1. All that wait at the gate
// poll the same word, but that changes only once per platoon.
type behind struct {
	ticket, departed xsync.Int64
	_                [48]byte
	open             xsync.Int64 // tickets that may pass, apart from the first platoon
	_                [56]byte
	inner            sync.Locker
}

func (l *behind) Lock() {
	mine := l.ticket.Add(1) - platoon
	for l.open.Load() < mine {
		xsync.Yield()
	}
	l.inner.Lock()
}

func (l *behind) Unlock() {
	l.inner.Unlock()
	if l.departed.Add(1)%platoon == 0 {
		l.open.Add(platoon)
	}
}

// waitingArray is the papers' ticket semaphore with a waiting array: only the next in line polls
// the grants.
type waitingArray struct{ *phased.Semaphore }

func newWaitingArray() waitingArray {
	return waitingArray{
		phased.New(phased.NewArray(buckets), 1, phased.Config{Threshold: 1, Near: phased.Spin, Far: phased.Spin}),
	}
}

func (l waitingArray) Lock()   { l.Take() }
func (l waitingArray) Unlock() { l.Post() }
