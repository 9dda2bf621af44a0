package cli_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

// walk returns the files below root that a walk finds, and how much it leaves out.
func walk(t *testing.T, ctx context.Context, root string, vcs bool) (files []string, leftOut int) {
	t.Helper()
	cli.Walk{
		Root: root, VCS: vcs,
		File: func(path string, _ fs.DirEntry, err error) {
			require.NoError(t, err)
			rel, err := filepath.Rel(root, path)
			require.NoError(t, err)
			files = append(files, filepath.ToSlash(rel))
		},
		LeftOut: func() { leftOut++ },
	}.Run(ctx)
	return files, leftOut
}

func TestVersionControlIsLeftOut(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{
		".git/config": {
			1,
		}, ".github/ci": {2}, "a/.git": {3}, "a/.hg/store/x": {4}, "a/b": {5}, "git/c": {6}, "z/.svn/d/e": {7},
	})
	files, leftOut := walk(t, t.Context(), dir, false)
	require.Equal(t, []string{".github/ci", "a/b", "git/c"}, files)
	require.Equal(t, 4, leftOut)

	files, leftOut = walk(t, t.Context(), dir, true)
	require.Equal(
		t,
		[]string{".git/config", ".github/ci", "a/.git", "a/.hg/store/x", "a/b", "git/c", "z/.svn/d/e"},
		files,
	)
	require.Zero(t, leftOut)

	files, _ = walk(t, t.Context(), filepath.Join(dir, ".git"), false)
	require.Equal(t, []string{"config"}, files, "unless it is asked for by name")
}

func TestWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files, _ := walk(t, ctx, clitest.WriteTree(t, map[string][]byte{"a": {1}}), false)
	require.Empty(t, files)
}

func TestErrorsOfAWalkAreTold(t *testing.T) {
	var errs []error
	cli.Walk{
		Root: filepath.Join(t.TempDir(), "missing"),
		File: func(_ string, _ fs.DirEntry, err error) { errs = append(errs, err) },
	}.Run(t.Context())
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], fs.ErrNotExist)
}
