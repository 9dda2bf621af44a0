package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source has a function of every form that has a name. The profiles below refer to its lines.
const source = `package waiter

type T struct{}

type G[K any] struct{}

func plain() { return }

func (t *T) method() {
	defer func() { recover() }()
}

func (G[K]) generic() { return }

func empty() {}
`

// module writes a module that is the core and no more: source in each file that is named, and a
// list.
func moduleOf(t *testing.T, list string, files ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range core {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o700))
	}
	for _, f := range files {
		write(t, filepath.Join(root, filepath.FromSlash(f)), source)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.FromSlash(filepath.Dir(listName))), 0o700))
	write(t, filepath.Join(root, filepath.FromSlash(listName)), list)
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// profileOf writes a profile of one file, in which these lines ran; the others of source's
// functions did not.
func profileOf(t *testing.T, file string, ran ...int) (name string) {
	t.Helper()
	b := new(strings.Builder)
	b.WriteString("mode: set\n")
	for _, at := range []struct{ line, column int }{{7, 14}, {9, 22}, {10, 15}, {13, 23}} {
		n := 0
		for _, l := range ran {
			if l == at.line {
				n = 1
			}
		}
		fmt.Fprintf(b, "%s/%s:%d.%d,%d.99 1 %d\n", module, file, at.line, at.column, at.line, n)
	}
	name = filepath.Join(t.TempDir(), "profile")
	write(t, name, b.String())
	return name
}

func judged(t *testing.T, root, profile string) (ok bool, problems []string) {
	t.Helper()
	var out bytes.Buffer
	ok, err := run(root, []string{profile}, &out)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return ok, lines[:len(lines)-1]
}

func TestFunctionNeitherReachedNorListedFails(t *testing.T) {
	root := moduleOf(t, "", "waiter/a.go")
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 7, 9))
	require.False(t, ok)
	require.Len(t, problems, 1, "all but one are reached, and the empty one does not count")
	require.Contains(t, problems[0], "waiter/a.go:G.generic: no scenario")

	ok, problems = judged(t, root, profileOf(t, "waiter/a.go", 7, 10, 13))
	require.True(t, ok, "a literal belongs to the function around it: %v", problems)
	require.Empty(t, problems)
}

func TestFileThatTheProfileDoesNotKnowIsNotReached(t *testing.T) {
	root := moduleOf(t, "", "waiter/a.go", "sync/mutex/b.go")
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 7, 9, 13))
	require.False(t, ok)
	require.Len(t, problems, 3)
	for i, name := range []string{"G.generic", "T.method", "plain"} {
		require.Contains(t, problems[i], "sync/mutex/b.go:"+name)
	}
}

func TestListedFunctionMayBeUnreached(t *testing.T) {
	root := moduleOf(t, "# none\n\nwaiter/a.go\tplain T.method\tno reason\n", "waiter/a.go")
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 13))
	require.True(t, ok, "%v", problems)
}

func TestListedFunctionThatIsReachedFails(t *testing.T) {
	root := moduleOf(t, "waiter/a.go\tplain T.method\tno reason\n", "waiter/a.go")
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 9, 13))
	require.False(t, ok)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], "waiter/a.go:T.method is listed, but a scenario reaches it")
}

func TestListedFunctionThatIsGoneFails(t *testing.T) {
	root := moduleOf(t, "waiter/a.go\tgone\tno reason\nwaiter/gone.go\tplain\tno reason\n", "waiter/a.go")
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 7, 9, 13))
	require.False(t, ok)
	require.Len(t, problems, 2)
	require.Contains(t, problems[0], "waiter/a.go:gone is listed, but does not exist")
	require.Contains(t, problems[1], "waiter/gone.go:plain is listed, but does not exist")
}

// Code that does not ship has no scenario to have: tests, and the explorer's twins.
func TestOnlyWhatShipsIsJudged(t *testing.T) {
	root := moduleOf(t, "", "waiter/a.go", "waiter/b_test.go", "waiter/c_model.go")
	write(t, filepath.Join(root, "waiter", "c_model.go"), "//go:build interleave\n\n"+source)
	ok, problems := judged(t, root, profileOf(t, "waiter/a.go", 7, 9, 13))
	require.True(t, ok, "%v", problems)
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	good := profileOf(t, "waiter/a.go", 7, 9, 13)
	for name, list := range map[string]string{
		"no reason":    "waiter/a.go\tplain\n",
		"empty reason": "waiter/a.go\tplain\t \n",
		"twice":        "waiter/a.go\tplain\tone\nwaiter/a.go\tT.method plain\ttwo\n",
	} {
		_, err := run(moduleOf(t, list, "waiter/a.go"), []string{good}, new(bytes.Buffer))
		require.ErrorContains(t, err, "unexplored.txt:", name)
	}
	root := moduleOf(t, "", "waiter/a.go")
	for name, text := range map[string]string{
		"nothing":   "mode: set\n",
		"no colon":  "mode: set\nwaiter/a.go\n",
		"no counts": "mode: set\nwaiter/a.go:1.2,3.4\n",
		"no number": "mode: set\nwaiter/a.go:1.2,3.4 1 x\n",
		"no column": "mode: set\nwaiter/a.go:1,3.4 1 0\n",
	} {
		bad := filepath.Join(t.TempDir(), "profile")
		write(t, bad, text)
		_, err := run(root, []string{bad}, new(bytes.Buffer))
		require.ErrorContains(t, err, "profile", name)
	}
	_, err := run(root, []string{good, good}, new(bytes.Buffer))
	require.Error(t, err)
	_, err = run(t.TempDir(), []string{good}, new(bytes.Buffer))
	require.Error(t, err, "no core at all")
}

// Every lock that ships is judged, and the list names nothing that is gone: that much needs no
// scenario.
func TestListNamesFunctionsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	locks, err := filepath.Glob(filepath.Join(root, "sync", "*"))
	require.NoError(t, err)
	for _, dir := range locks {
		if info, err := os.Stat(dir); assert.NoError(t, err) && info.IsDir() && filepath.Base(dir) != "testdata" {
			assert.Contains(t, core, "sync/"+filepath.Base(dir))
		}
	}
	functions, err := functionsOf(root, core)
	require.NoError(t, err)
	require.Greater(t, len(functions), 500)
	list, err := readList(filepath.Join(root, filepath.FromSlash(listName)))
	require.NoError(t, err)
	exists := map[string]bool{}
	for _, f := range functions {
		assert.False(t, exists[f.key()] && f.name != "init", "two functions %s", f.key())
		exists[f.key()] = true
	}
	for key := range list {
		assert.True(t, exists[key], "%s does not exist", key)
	}
}
