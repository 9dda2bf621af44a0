//go:build !interleave

package runtime

import "context"

func afterFunc(ctx context.Context, f func()) (stop func() bool) { return afterEnd(ctx, f) }
