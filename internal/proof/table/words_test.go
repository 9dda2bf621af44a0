package table

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is said of machine words holds for every value, and not without what it assumes.
func TestWordsAreProved(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a solver; the command `go run ./internal/proof` asks, too")
	}
	if _, err := exec.LookPath("z3"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("z3 is not installed (Debian: apt-get install z3): nothing is proved here")
	}
	s, err := Start("z3")
	require.NoError(t, err)
	for _, w := range Words() {
		wrong, _, err := w.Prove(s)
		require.NoError(t, err, w.Name)
		assert.Empty(t, wrong, w.Name)
	}
	require.NoError(t, s.Close())
}
