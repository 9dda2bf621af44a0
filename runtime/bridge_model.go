//go:build interleave

package rt

import (
	"context"

	"github.com/farad-go/farad/internal/xsync/model"
)

// afterFunc is afterEnd, and for a context of the explorer what stands for it.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	if c, ok := ctx.(interface{ explored() context.Context }); ok {
		return afterFunc(c.explored(), f)
	}
	if stop, ok := model.AfterFunc(ctx, f); ok {
		return stop
	}
	return afterEnd(ctx, f)
}
