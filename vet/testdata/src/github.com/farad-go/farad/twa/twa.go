// Package twa stands for the real one: its types and methods, without what they do.
package twa

import "context"

type EventCount struct{ n int64 }

func (e *EventCount) Await(ctx context.Context, n int64) error { return nil }
