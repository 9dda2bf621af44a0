package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	xsemaphore "golang.org/x/sync/semaphore"

	faradsync "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
)

// A cell is one way to use a lock.
type cell struct {
	Section, Outside int // nanoseconds of work with the lock and without
	Goroutines       int
	Busy             int // goroutines for each processor that do nothing but work
	Permits          int
	Writes           int // one of Writes operations is a write; 0: none
}

func (c cell) String() string {
	kind := fmt.Sprintf("%d-%d", c.Section, c.Outside)
	if c.Permits == 0 {
		kind = fmt.Sprintf("%d-%s", c.Section, writeShare(c.Writes))
	}
	return fmt.Sprintf("%s/%d/busy-%d", kind, c.Goroutines, c.Busy)
}

func writeShare(writes int) string {
	if writes == 0 {
		return "read"
	}
	return fmt.Sprintf("write-%d", writes)
}

// A use is what a goroutine does with a lock, before and after its section.
type use struct{ enter, leave func(write bool) }

type peer struct {
	name   string
	create func(c cell) use
}

// A plane is a kind of lock, and the cells in which its peers are compared with the first.
type plane struct {
	name  string
	peers []peer
	cells func() []cell
}

var bg = context.Background()

func exclusive(l sync.Locker) use {
	return use{func(bool) { l.Lock() }, func(bool) { l.Unlock() }}
}

// weighted is what both semaphores have.
type weighted interface {
	Acquire(ctx context.Context, n int64) error
	Release(n int64)
}

func permits(s weighted) use {
	return use{func(bool) { _ = s.Acquire(bg, 1) }, func(bool) { s.Release(1) }}
}

type readWrite interface {
	sync.Locker
	RLock()
	RUnlock()
}

func shared(l readWrite) use {
	return use{
		func(write bool) {
			if write {
				l.Lock()
			} else {
				l.RLock()
			}
		},
		func(write bool) {
			if write {
				l.Unlock()
			} else {
				l.RUnlock()
			}
		},
	}
}

// oneKey is a key of a lock that has many.
type oneKey struct{ m *keyed.RWMutex[string] }

func (k oneKey) Lock()    { k.m.Lock("key") }
func (k oneKey) Unlock()  { k.m.Unlock("key") }
func (k oneKey) RLock()   { k.m.RLock("key") }
func (k oneKey) RUnlock() { k.m.RUnlock("key") }

var (
	channel = peer{"channel", func(c cell) use {
		tokens := make(chan struct{}, c.Permits)
		return use{func(bool) { tokens <- struct{}{} }, func(bool) { <-tokens }}
	}}
	xsync = peer{"x/sync", func(c cell) use { return permits(xsemaphore.NewWeighted(int64(c.Permits))) }}
	ours  = peer{"semaphore", func(c cell) use { return permits(semaphore.New(int64(c.Permits))) }}
)

var planes = []plane{
	{"mutex", []peer{
		{"sync.Mutex", func(cell) use { return exclusive(new(sync.Mutex)) }},
		{"farad/sync.Mutex", func(cell) use { return exclusive(new(faradsync.Mutex)) }},
		{"mutex.Mutex", func(cell) use { return exclusive(new(mutex.Mutex)) }},
		ours,
		{"WithCapacitor", func(cell) use { return permits(semaphore.New(1, semaphore.WithCapacitor(1, 256))) }},
		{"keyed.Mutex", func(cell) use {
			m := new(keyed.Mutex[string])
			return use{func(bool) { m.Lock("key") }, func(bool) { m.Unlock("key") }}
		}},
		channel,
		xsync,
	}, func() []cell { return exclusiveCells(1, []int{2, 8, 64, 1024}) }},
	{"permits-4", []peer{
		channel,
		ours,
		xsync,
	}, func() []cell { return exclusiveCells(4, []int{8, 64}) }},
	{"rwlock", []peer{
		{"sync.RWMutex", func(cell) use { return shared(new(sync.RWMutex)) }},
		{"farad/sync.RWMutex", func(cell) use { return shared(new(faradsync.RWMutex)) }},
		{"rwlock, bias", func(cell) use { return shared(rwlock.NewBiased()) }},
		{"keyed.RWMutex", func(cell) use { return shared(oneKey{new(keyed.RWMutex[string])}) }},
	}, rwCells},
	{"pool", []peer{
		xsync,
		channel,
		{"x/sync, Gosched", func(c cell) use { // the mend of jackc/puddle#47
			u := permits(xsemaphore.NewWeighted(int64(c.Permits)))
			return use{u.enter, func(bool) { u.leave(false); runtime.Gosched() }}
		}},
		ours,
		{"WithCapacitor", func(c cell) use {
			return permits(semaphore.New(int64(c.Permits), semaphore.WithCapacitor(1, 256)))
		}},
	}, poolCells},
}

func exclusiveCells(permits int, goroutines []int) (cells []cell) {
	for _, work := range [][2]int{
		{0, 0},
		{0, 200},
		{0, 1000},
		{0, 10000},
		{200, 0},
		{200, 200},
		{200, 1000},
		{200, 10000},
		{1000, 0},
		{1000, 200},
		{1000, 1000},
		{1000, 10000},
		{10000, 0},
		{10000, 10000},
	} {
		for _, n := range goroutines {
			c := cell{Section: work[0], Outside: work[1], Goroutines: n, Permits: permits}
			short := work[0] <= 1000 && work[1] != 200 && work[0]+work[1] != 11000
			cells = append(cells, c.besideOthers(short)...)
		}
	}
	return cells
}

func rwCells() (cells []cell) {
	for _, section := range []int{0, 40, 200, 1000, 10000} {
		for _, writes := range []int{0, 1000, 100, 10} {
			for _, n := range []int{2, 8, 64} {
				c := cell{Section: section, Goroutines: n, Writes: writes}
				short := section <= 1000 && section != 40 && writes != 1000
				cells = append(cells, c.besideOthers(short)...)
			}
		}
	}
	return cells
}

// besideOthers returns c. If c is also measured on busy processors, with 8 and 64 goroutines, it
// adds the same cell with one and two other goroutines for each processor.
func (c cell) besideOthers(measured bool) []cell {
	cells := []cell{c}
	for busy := 1; busy <= 2 && measured && (c.Goroutines == 8 || c.Goroutines == 64); busy++ {
		c.Busy = busy
		cells = append(cells, c)
	}
	return cells
}

// windows returns how many windows long the cell is measured. On busy processors it is long, so
// that the scheduler's slices of 10 ms average out.
func (c cell) windows() int {
	switch {
	case c.Section == asleep || c.Busy > 0:
		return 10
	case c.Goroutines > 64:
		return 3
	default:
		return 1
	}
}

// asleep is the section of a pool's user, which waits for an answer.
const asleep = -1_000_000

// poolCells are the cells of jackc/puddle#46: 4 resources for 100 clients, which hold one for a
// millisecond, asleep, and then work.
func poolCells() (cells []cell) {
	for _, outside := range []int{0, 200_000, 1_000_000} {
		cells = append(cells, cell{Section: asleep, Outside: outside, Goroutines: 100, Permits: 4})
	}
	return cells
}
