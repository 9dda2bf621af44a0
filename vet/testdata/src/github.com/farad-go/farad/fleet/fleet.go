// Package fleet stands for the real one: its types and methods, without what they do.
package fleet

import (
	"context"
	"errors"
)

var ErrBusy = errors.New("busy")

type Semaphore struct{ n int64 }

func (s *Semaphore) Acquire(ctx context.Context, n int64) error                  { return nil }
func (s *Semaphore) AcquirePermit(ctx context.Context, n int64) (*Permit, error) { return nil, nil }
func (s *Semaphore) Bind(f *Future, n int64)                                     {}
func (s *Semaphore) Release(n int64)                                             {}
func (s *Semaphore) TryAcquire(n int64) bool                                     { return true }
func (s *Semaphore) TryAcquirePermit(ctx context.Context, n int64) (*Permit, error) {
	return nil, nil
}

type Keyed struct{ n int64 }

func (k *Keyed) Acquire(ctx context.Context, key string, n int64) (*Permit, error) { return nil, nil }

func (k *Keyed) TryAcquire(ctx context.Context, key string, n int64) (*Permit, error) {
	return nil, nil
}

type Mutex struct{ n int64 }

func (m *Mutex) Lock(ctx context.Context) (*Permit, error)    { return nil, nil }
func (m *Mutex) TryLock(ctx context.Context) (*Permit, error) { return nil, nil }

type Future struct{ n int64 }

func (f *Future) Done() <-chan struct{} { return nil }
func (f *Future) Err() error            { return nil }
func (f *Future) Permit() *Permit       { return nil }
func (f *Future) Release()              {}

type Permit struct{ n int64 }

func (p *Permit) Lost() <-chan struct{} { return nil }
func (p *Permit) Valid() bool           { return true }
func (p *Permit) Release()              {}
