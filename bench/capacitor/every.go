package capacitor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/neilotoole/fifomu"
	"github.com/puzpuzpuz/xsync/v4"
	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// Every lock and every policy that excludes, side by side in one workload: every-N is mutexbench-N
// with all of them. What they promise differs, so the table has that next to the figures.

// EverySizes are how many goroutines there are.
var EverySizes = []int{1, 8, 64}

func everyName(goroutines int) string { return fmt.Sprintf("%s%d", locks.EveryPrefix, goroutines) }

// The names of locks that only every-N has.
const (
	namePacked      = "farad, mutex.Packed"
	namePointer     = "farad, mutex.Pointer"
	nameTWASem      = "farad, twa.Semaphore"
	nameBothLock    = "farad, semaphore with capacitor and array"
	nameWrappedWord = "wrapped mutex.Word, B=10"
	nameLaneWord    = "wrapped mutex.Word, B=1, express 256"
	nameRWLock      = "farad, rwlock"
	nameRWBias      = "farad, rwlock with bias"
	nameCapacitorRW = "farad, farad/sync.RWMutex"
)

// The orders in which waiters are served, and how many overtake them at most.
const (
	orderFIFO     = "FIFO"
	orderBarging  = "barging"
	orderExpress  = "express lane"
	orderPlatoons = "platoons"

	boundNone        = "0"
	boundLane        = "(p + 1) · 256"
	boundPlatoon     = "9"
	boundWrappedLane = "(p + 2) · 256"
	boundWoken       = "none, but a waiter woken 8 times is next"
	boundStarved     = "none, but a waiter of 1 ms is next"
)

// An everyLock is a lock and what it promises.
type everyLock struct {
	newLock

	order     string
	bound     string  // how many overtake a waiter with p others in front
	allocates bool    // when it waits, in the steady state
	size      uintptr // of itself, without what it points to; 0: less than a byte
}

// everyLocks are all. Those for readers and writers are locked by writers.
var everyLocks = []everyLock{
	{known(measure.NameFarad), orderExpress, boundLane, false, unsafe.Sizeof(farad.Mutex{})},
	{known(NameFIFO), orderFIFO, boundNone, false, unsafe.Sizeof(mutex.Mutex{})},
	{known(NameWord), orderBarging, boundWoken, false, unsafe.Sizeof(mutex.Word{})},
	{
		newLock{namePacked, func() sync.Locker { return onePacked{mutex.NewPacked(1)} }},
		orderBarging,
		boundWoken,
		false,
		0,
	},
	{
		newLock{namePointer, func() sync.Locker { return new(mutex.Pointer[int]) }},
		orderBarging,
		boundWoken,
		false,
		unsafe.Sizeof(mutex.Pointer[int]{}),
	},
	{known(locks.NameTWAMutex), orderFIFO, boundNone, false, unsafe.Sizeof(twa.Mutex{})},
	{known(nameWrapped), orderPlatoons, boundPlatoon, false, unsafe.Sizeof(capacitor.Wrapped[*sync.Mutex]{})},
	{known(nameLane), orderExpress, boundWrappedLane, false, unsafe.Sizeof(capacitor.Wrapped[*sync.Mutex]{})},
	{
		newLock{nameWrappedWord, func() sync.Locker { return capacitor.Wrap(new(mutex.Word), 10) }},
		orderPlatoons,
		boundPlatoon,
		false,
		unsafe.Sizeof(capacitor.Wrapped[*mutex.Word]{}),
	},
	{newLock{nameLaneWord, func() sync.Locker {
		return capacitor.Wrap(new(mutex.Word), 1, capacitor.WithExpress(256))
	}}, orderExpress, boundWrappedLane, false, unsafe.Sizeof(capacitor.Wrapped[*mutex.Word]{})},

	{known(locks.NameSem), orderFIFO, boundNone, false, unsafe.Sizeof(semaphore.Semaphore{})},
	{known(nameArrayLock), orderFIFO, boundNone, false, unsafe.Sizeof(semaphore.Semaphore{})},
	{known(nameCapacitorLock), orderExpress, boundLane, false, unsafe.Sizeof(semaphore.Semaphore{})},
	{newLock{nameBothLock, func() sync.Locker {
		return asLock{semaphore.New(1, semaphore.WithCapacitor(1, 256), semaphore.WithWaitingArray(nil))}
	}}, orderExpress, boundLane, false, unsafe.Sizeof(semaphore.Semaphore{})},
	{
		newLock{nameTWASem, func() sync.Locker { return asLock{twa.New(1)} }},
		orderFIFO,
		boundNone,
		false,
		unsafe.Sizeof(twa.Semaphore{}),
	},

	{
		newLock{nameRWLock, func() sync.Locker { return new(rwlock.RWLock) }},
		orderFIFO,
		boundNone,
		false,
		unsafe.Sizeof(rwlock.RWLock{}),
	},
	{
		newLock{nameRWBias, func() sync.Locker { return rwlock.NewBiased() }},
		orderFIFO,
		boundNone,
		false,
		unsafe.Sizeof(rwlock.RWLock{}),
	},
	{
		newLock{nameCapacitorRW, func() sync.Locker { return new(farad.RWMutex) }},
		orderExpress,
		boundLane,
		false,
		unsafe.Sizeof(farad.RWMutex{}),
	},

	{known(locks.NameMutex), orderBarging, boundStarved, false, unsafe.Sizeof(sync.Mutex{})},
	{
		newLock{locks.NameRWMutex, func() sync.Locker { return new(sync.RWMutex) }},
		orderBarging,
		boundStarved,
		false,
		unsafe.Sizeof(sync.RWMutex{}),
	},
	{
		newLock{locks.NameRBMutex, func() sync.Locker { return xsync.NewRBMutex() }},
		orderBarging,
		boundStarved,
		false,
		unsafe.Sizeof(xsync.RBMutex{}),
	},
	{known(peers.NameFifomu), orderFIFO, boundNone, false, unsafe.Sizeof(fifomu.Mutex{})},
	{known(peers.NameXSync), orderFIFO, boundNone, true, unsafe.Sizeof(xsemaphore.Weighted{})},
	{known(peers.NameChannel), orderFIFO, boundNone, false, unsafe.Sizeof(peers.Channel(nil))},
}

// onePacked is the first of packed mutexes.
type onePacked struct{ all mutex.Packed }

func (m onePacked) Lock() { m.all.Lock(0) }

func (m onePacked) Unlock() { m.all.Unlock(0) }

// LockContext is Lock, and gives up when ctx is done.
func (m onePacked) LockContext(ctx context.Context) error { return m.all.LockContext(ctx, 0) }

// known returns the lock of hand-off-N that has this name.
func known(name string) newLock {
	return handOffLocks[slices.IndexFunc(handOffLocks, func(l newLock) bool { return l.Name == name })]
}

// cancels describes whether a wait for the lock can end with a context. After the gate in front of
// a lock without cancellation a waiter no longer gives up.
func (l everyLock) cancels() string {
	switch l.create().(type) {
	case *capacitor.Wrapped[*sync.Mutex]:
		return "at the gate"
	case interface {
		LockContext(ctx context.Context) error
	}:
		return "yes"
	}
	return "no"
}

// everybench is mutexbench with all locks.
func everybench(goroutines int) locks.Bench {
	w := locks.Bench{Name: everyName(goroutines), Goroutines: goroutines}
	for _, l := range everyLocks {
		w.Impls = append(w.Impls, advances(l.newLock))
	}
	return w
}

const everyNote = "MutexBench with every lock and policy that excludes; read-write locks are locked by writers." +
	" The figures are ns per acquisition with T goroutines, and the fairness in brackets: medians" +
	" over the rounds. Beside them is what each lock promises: who gets the lock next, how many later" +
	" goroutines overtake one that waits behind p others, whether a wait can end with a context," +
	" whether waiting allocates in the steady state, and the bytes of the lock itself, without what" +
	" it points to. farad is farad/sync.Mutex."

// EveryTable has a line for each lock.
func EveryTable(rs locks.Results) *table.Table {
	t := &table.Table{
		Title: "Every lock", Note: everyNote,
		Head: []string{"lock", "order", "overtaken by at most", "can be cancelled", "allocates", "bytes"}, Left: 5,
	}
	t.Head = append(t.Head, columnsFor("T=", EverySizes)...)
	for _, l := range everyLocks {
		t.AddMeasured(l.promises(), rs.Pairs(everyName, EverySizes, l.Name))
	}
	return t
}

// promises are the cells of a lock with its promises.
func (l everyLock) promises() []string {
	size := fmt.Sprint(l.size)
	if l.size == 0 {
		size = "2 bits"
	}
	return []string{l.Name, l.order, l.bound, l.cancels(), table.YesNo(l.allocates), size}
}
