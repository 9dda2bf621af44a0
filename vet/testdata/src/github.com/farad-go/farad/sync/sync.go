// Package sync stands for the real one: its types and methods, without what they do.
package sync

import (
	"context"
	"time"

	"github.com/farad-go/farad/waiter"
)

type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

type Locker interface {
	Lock()
	Unlock()
}

type Mutex struct{ _ noCopy }

func (m *Mutex) Bind(f *waiter.Future)                 {}
func (m *Mutex) Lock()                                 {}
func (m *Mutex) LockContext(ctx context.Context) error { return nil }
func (m *Mutex) LockTimeout(d time.Duration) bool      { return true }
func (m *Mutex) TryLock() bool                         { return true }
func (m *Mutex) Unlock()                               {}
func (m *Mutex) Waiting() int                          { return 0 }

type RWMutex struct{ _ noCopy }

func (m *RWMutex) Lock()                                  {}
func (m *RWMutex) LockContext(ctx context.Context) error  { return nil }
func (m *RWMutex) TryLock() bool                          { return true }
func (m *RWMutex) Unlock()                                {}
func (m *RWMutex) RLock()                                 {}
func (m *RWMutex) RLockContext(ctx context.Context) error { return nil }
func (m *RWMutex) RUnlock()                               {}

type WaitGroup struct{ _ noCopy }

func (g *WaitGroup) Add(n int)                             {}
func (g *WaitGroup) Wait()                                 {}
func (g *WaitGroup) WaitContext(ctx context.Context) error { return nil }
func (g *WaitGroup) WaitTimeout(d time.Duration) bool      { return true }
