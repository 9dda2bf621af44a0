package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnterFindsTheRootFromBelow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	below := filepath.Join(root, "tools", "mutate")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+Module+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "tools", "go.mod"), []byte("module "+Module+"/tools\n"), 0o600))
	for _, dir := range []string{below, filepath.Dir(below), root} {
		t.Chdir(dir)
		require.NoError(t, Enter())
		got, err := os.Getwd()
		require.NoError(t, err)
		require.Equal(t, root, got)
	}
	t.Chdir(t.TempDir())
	require.ErrorContains(t, Enter(), "not in the repository")
}

func TestReadReasons(t *testing.T) {
	write := func(text string) string {
		name := filepath.Join(t.TempDir(), "list.txt")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	names := func(columns []string) (keys []string) {
		for f := range strings.FieldsSeq(columns[1]) {
			keys = append(keys, columns[0]+":"+f)
		}
		return keys
	}
	got, err := ReadReasons(write("# comment\n\na\tf g\tbecause\tof tabs\nb\tf\twhy\n"), 2, names)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a:f": "because\tof tabs", "a:g": "because\tof tabs", "b:f": "why"}, got)
	for text, want := range map[string]string{
		"a\tf\n":               "list.txt:1: expected 3 columns separated by tabs, the last a reason",
		"a\tf\t \n":            "list.txt:1: expected 3 columns separated by tabs, the last a reason",
		"a\tf\tx\n\na\tf\ty\n": "list.txt:3: a:f is listed twice",
	} {
		_, err := ReadReasons(write(text), 2, names)
		require.ErrorContains(t, err, want)
	}
	_, err = ReadReasons(filepath.Join(t.TempDir(), "none"), 2, names)
	require.ErrorIs(t, err, os.ErrNotExist)
}
