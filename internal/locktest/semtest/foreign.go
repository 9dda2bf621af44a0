//go:build interleave

package semtest

import (
	"errors"

	"github.com/farad-go/farad/internal/interleave"
)

// A Foreign is a context of a type of its own, which does not keep to the order of package context:
// there Err has an error before the channel of Done is closed, and has it ever after.
type Foreign struct {
	*interleave.Context // its channel, which its Cancel closes

	err interleave.Bool
}

// ErrForeign is the error of a [Foreign] that has one.
var ErrForeign = errors.New("foreign")

// NewForeign returns a foreign context.
func NewForeign(x *interleave.Run) *Foreign { return &Foreign{Context: x.NewContext()} }

// Err returns [ErrForeign], or nil.
func (c *Foreign) Err() error {
	if c.err.Load() {
		return ErrForeign
	}
	return nil
}

// ForeignEnds are the ways in which a foreign context may end, or not.
var ForeignEnds = []struct {
	Name string
	End  func(c *Foreign)
}{
	{"no error", func(c *Foreign) { c.Cancel() }},
	{"error after closing", func(c *Foreign) { c.Cancel(); c.err.Store(true) }},
	{"error and no end", func(c *Foreign) { c.err.Store(true) }},
	{"error for a time", func(c *Foreign) { c.err.Store(true); c.Cancel(); c.err.Store(false) }},
	{"error taken back", func(c *Foreign) { c.err.Store(true); c.err.Store(false) }},
}
