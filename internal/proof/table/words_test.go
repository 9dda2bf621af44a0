package table

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is said of machine words holds for every value, and not without what it assumes.
func TestWordsAreProved(t *testing.T) {
	needsSolver(t)
	s, err := Start("z3")
	require.NoError(t, err)
	for _, w := range Words() {
		wrong, _, err := w.Prove(s)
		require.NoError(t, err, w.Name)
		assert.Empty(t, wrong, w.Name)
	}
	require.NoError(t, s.Close())
}
