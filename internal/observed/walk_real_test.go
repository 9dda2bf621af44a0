//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64) && !msan && !asan && !farad_portable && !interleave

package observed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the g can be read it is: the slow ways, which have the same results, are not taken.
func TestQuickWaysAreTaken(t *testing.T) {
	identified()
	require.NotZero(t, goidAt)
	var key [depth]uintptr
	require.NotZero(t, walk(&key))
}
