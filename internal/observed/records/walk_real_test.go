//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64) && !msan && !asan && !farad_portable && !interleave

package records

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where frame pointers can be walked they are: the slow way, with the same result, is not taken.
func TestQuickWalkIsTaken(t *testing.T) {
	var key [depth]uintptr
	require.NotZero(t, walk(&key))
}
