// Package limit stands for the real one: its types and methods, without what they do.
package limit

import "context"

type Limiter struct{ n int64 }

func (l *Limiter) Acquire(ctx context.Context, n int64) (*Permit, error) { return nil, nil }
func (l *Limiter) TryAcquire(n int64) (*Permit, bool)                    { return nil, true }

type Permit struct{ n int64 }

func (p *Permit) Success() {}
func (p *Permit) Dropped() {}
func (p *Permit) Ignore()  {}
