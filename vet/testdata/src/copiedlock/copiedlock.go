package copiedlock

import (
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/waiter"
)

type account struct {
	mu  sync.Mutex
	sum int
}

type plain struct{ sum int }

func sends(mu *sync.Mutex, a account, all []account, any chan any, c chan account) {
	any <- *mu       // want `this sends a copy of a lock: sync.Mutex`
	any <- a         // want `this sends a copy of a lock: sync.Mutex`
	c <- all[0]      // want `this sends a copy of a lock: sync.Mutex`
	any <- all[1].mu // want `this sends a copy of a lock: sync.Mutex`
	select {
	case c <- a: // want `this sends a copy of a lock: sync.Mutex`
	default:
	}
}

func switches(x any) int {
	switch v := x.(type) {
	case account: // want `v is a copy of a lock in this case: sync.Mutex`
		return v.sum
	case [2]waiter.Future: // want `v is a copy of a lock in this case: waiter.Future`
		return len(v)
	case *account:
		return v.sum
	}
	return 0
}

func okPointers(mu *sync.Mutex, a *account, any chan any, c chan *account) {
	any <- mu
	any <- a
	c <- a
}

func okNew(c chan account) { c <- account{sum: 1} }

func fresh() account { return account{} }

func okMade(c chan account) { c <- fresh() }

func okNewPointer(c chan sync.Mutex) { c <- *new(sync.Mutex) }

func okPlain(p plain, any chan any) { any <- p }

func okInterface(l sync.Locker, c chan sync.Locker) { c <- l }

func okCases(x any) int {
	switch v := x.(type) {
	case *sync.Mutex, *account:
		_ = v
	case account:
		return 1
	case plain:
		return v.sum
	}
	return 0
}

func okSlices(x any, all []account, c chan []account) int {
	c <- all
	switch v := x.(type) {
	case []account:
		return len(v)
	case map[string]account:
		return len(v)
	}
	return 0
}
