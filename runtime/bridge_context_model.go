//go:build interleave

package runtime

import (
	"context"

	"github.com/farad-go/farad/internal/interleave"
)

// afterFunc is [context.AfterFunc], and for a context of the explorer what stands for it.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	if c, ok := ctx.(*interleave.Context); ok {
		return c.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}
