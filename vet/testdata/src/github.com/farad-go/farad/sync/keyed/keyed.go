// Package keyed stands for the real one: its types and methods, without what they do.
package keyed

import "context"

type Mutex[K comparable] struct{ k K }

func (m *Mutex[K]) Lock(k K)                                   {}
func (m *Mutex[K]) LockContext(ctx context.Context, k K) error { return nil }
func (m *Mutex[K]) Unlock(k K)                                 {}
