package contractauth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/farad-go/farad/fleet/fence/grpcfence" // which the guide shows
	"github.com/farad-go/farad/internal/snippets"
)

// Each block of Go in the guide, and those of the README about a fleet, is a part of a function. It
// is checked with the packages that it names. The test at the root of the repository leaves these
// blocks out, because the root does not depend on etcd.
func TestCodeAboutTheFleetCompiles(t *testing.T) {
	t.Parallel()
	blocks, err := snippets.Fleet.Blocks("../../../")
	require.NoError(t, err)
	require.Greater(t, len(blocks), 6)
	compiler, err := snippets.Fleet.Compiler(t.Context(), "", nil)
	require.NoError(t, err)
	for _, b := range blocks {
		_, err := compiler.Compile(b.Text)
		require.NoError(t, err, "%s:\n%s", b.File, b.Text)
	}
	for text, fault := range map[string]string{"p.Free()\n": "Free", "fleet.Create()\n": "Create"} {
		_, err := compiler.Compile(text)
		require.ErrorContains(t, err, fault)
	}
}
