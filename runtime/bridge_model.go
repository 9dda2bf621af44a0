//go:build interleave

package rt

import (
	"context"

	"github.com/farad-go/farad/internal/interleave"
)

// afterFunc is afterEnd, and for a context of the explorer what stands for it.
func afterFunc(ctx context.Context, f func()) (stop func() bool) {
	switch c := ctx.(type) {
	case *interleave.Context:
		return c.AfterFunc(f)
	case interface{ explored() *interleave.Context }:
		return c.explored().AfterFunc(f)
	default:
		return afterEnd(ctx, f)
	}
}
