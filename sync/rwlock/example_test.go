package rwlock_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// Giving up with a context, and after a time.
func ExampleRWLock() {
	var l rwlock.RWLock
	l.RLock()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(l.LockContext(ctx))
	fmt.Println(l.LockTimeout(time.Millisecond))
	fmt.Println(l.RLockTimeout(time.Millisecond)) // beside the other reader

	l.RUnlock()
	l.RUnlock()
	fmt.Println(l.LockContext(context.Background()))
	fmt.Println(l.RLockTimeout(time.Millisecond))
	l.Unlock()
	// Output:
	// context deadline exceeded
	// false
	// true
	// <nil>
	// false
}

// The goroutine reads first and may have to write then: no goroutine writes in between.
func ExampleRWLock_Upgrade() {
	var l rwlock.RWLock
	cache := map[string]int{}
	lookup := func(key string) int {
		l.ULock()
		if n, ok := cache[key]; ok {
			l.UUnlock()
			return n
		}
		l.Upgrade()
		defer l.Unlock()
		fmt.Println("computing", key)
		cache[key] = len(key)
		return cache[key]
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { lookup("farad") })
	}
	wg.Wait()
	fmt.Println(lookup("farad"))
	// Output:
	// computing farad
	// 5
}

// An upgrade with a limit. A goroutine that gives it up is still the upgradable reader.
func ExampleRWLock_UpgradeTimeout() {
	var l rwlock.RWLock
	l.RLock() // some reader
	l.ULock()
	fmt.Println(l.UpgradeTimeout(time.Millisecond))
	l.RUnlock()
	fmt.Println(l.UpgradeTimeout(time.Millisecond))
	l.Unlock()
	// Output:
	// false
	// true
}

// What has been written is read before any other goroutine can write, and others read it at the
// same time.
func ExampleRWLock_Downgrade() {
	var l rwlock.RWLock
	l.Lock()
	config := "new"
	l.Downgrade()
	fmt.Println(l.TryRLock(), l.TryLock())
	l.RUnlock()
	fmt.Println(config)
	l.RUnlock()
	// Output:
	// true false
	// new
}

// A lock in Go's select.
func ExampleRWLock_Bind() {
	var l rwlock.RWLock
	l.RLock()

	var f waiter.Future
	l.Bind(&f)
	defer f.Release() // right on every path
	select {
	case <-f.Done():
		fmt.Println("locked")
	case <-time.After(time.Millisecond):
		fmt.Println("gave up")
	}
	fmt.Println(l.TryRLock()) // the writer is still in line

	l.RUnlock()
	<-f.Done()
	fmt.Println("locked:", !l.TryRLock())
	f.Release() // the deferred one does nothing then
	fmt.Println("unlocked:", l.TryLock())
	// Output:
	// gave up
	// false
	// locked: true
	// unlocked: true
}

// A lock for data that are read all the time by several processors, and hardly ever written.
func ExampleNewBiased() {
	l := rwlock.NewBiased()
	routes := map[string]string{"/": "index"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				l.RLock()
				_ = routes["/"]
				l.RUnlock()
			}
		})
	}
	l.Lock()
	routes["/"] = "home"
	l.Unlock()
	wg.Wait()
	fmt.Println(routes["/"])
	// Output: home
}

// Data and lock travel together.
func ExampleGuard() {
	g := rwlock.NewGuard(map[string]int{"a": 1})
	g.Write(func(m *map[string]int) { (*m)["a"]++ })
	g.Read(func(m *map[string]int) { fmt.Println((*m)["a"]) })
	// Output: 2
}

// A goroutine that may have to write reads first, and upgrades.
func ExampleGuard_Value() {
	g := rwlock.NewGuard(map[string]int{})
	l := g.RWLock()
	l.ULock()
	if _, ok := (*g.Value())["a"]; !ok {
		l.Upgrade()
		(*g.Value())["a"] = 1
		l.Unlock()
	} else {
		l.UUnlock()
	}
	g.Read(func(m *map[string]int) { fmt.Println((*m)["a"]) })
	// Output: 1
}
