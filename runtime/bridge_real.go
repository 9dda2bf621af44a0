//go:build !interleave

package rt

import "context"

func afterFunc(ctx context.Context, f func()) (stop func() bool) { return afterEnd(ctx, f) }
