// Package semaphore stands for the real one: its types and methods, without what they do.
package semaphore

import (
	"context"
	"time"

	"github.com/farad-go/farad/waiter"
)

type Semaphore struct{ n int64 }

func New(n int64) *Semaphore { return &Semaphore{n} }

func (s *Semaphore) Acquire(ctx context.Context, n int64) error                  { return nil }
func (s *Semaphore) AcquireTimeout(d time.Duration, n int64) error               { return nil }
func (s *Semaphore) AcquirePermit(ctx context.Context, n int64) (*Permit, error) { return nil, nil }
func (s *Semaphore) As(tenant any) Tenant                                        { return Tenant{} }
func (s *Semaphore) Bind(f *waiter.Future, n int64)                              {}
func (s *Semaphore) Release(n int64)                                             {}
func (s *Semaphore) TryAcquire(n int64) bool                                     { return true }
func (s *Semaphore) TryAcquirePermit(n int64) (*Permit, bool)                    { return nil, true }

type Tenant struct{ s *Semaphore }

func (t Tenant) Acquire(ctx context.Context, n int64) error { return nil }

type Permit struct{ n int64 }

func (p *Permit) N() int64              { return p.n }
func (p *Permit) Split(n int64) *Permit { return p }
func (p *Permit) Release()              {}
