//go:build interleave

package futuretest

import "testing"

func allocatesNothing(t *testing.T, _ Kind) {
	t.Skip("what the explorer puts in the place of channels and pools allocates")
}
