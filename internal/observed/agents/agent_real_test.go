//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !msan && !asan && !farad_portable && !interleave

package agents

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the g can be read it is: the slow way, which has the same result, is not taken.
func TestQuickNumberIsTaken(t *testing.T) {
	Identify()
	require.NotZero(t, goidAt)
}
