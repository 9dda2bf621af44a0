package repo

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree makes a repository of these files.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	out, err := exec.Command("git", "init", "-q", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	tree, err := Load(t.Context(), root)
	require.NoError(t, err)
	return tree
}

var two = map[string]string{
	"go.mod":                "module m\n",
	"README.md":             "prose\n",
	"doc.go":                "package m\n",
	"a/a.go":                "package a\n",
	"a/a.s":                 "TEXT\n",
	"a/a_windows.go":        "package a\nimport _ \"m/c\"\n",
	"a/data/page.html":      "<html>\n",
	"a/testdata/x.md":       "data\n",
	"a/testdata/p/p.go":     "package p\n",
	"a/notes.md":            "prose\n",
	"b/b.go":                "package b\nimport _ \"m/a\"\n",
	"b/b_test.go":           "package b_test\nimport _ \"m/d\"\n",
	"c/c.go":                "package c\n",
	"c/c_test.go":           "package c\nimport _ \"m/b\"\n",
	"d/d.go":                "package d\nimport _ \"fmt\"\n",
	"d/model_test.go":       "package d\nfunc f() { " + "interleave." + "Check(t, nil) }\n",
	"sub/go.mod":            "module m/sub\n",
	"sub/list.json":         "[]\n",
	"sub/x/x.go":            "package x\nimport _ \"m/b\"\n",
	"sub/x/y/y.go":          "package y\n",
	".gitignore":            "/ignored\n",
	"ignored/ignored.go":    "package ignored\n",
	"scripts/nothing-of-go": "sh\n",
}

func dirs(packages map[*Package]bool) (names []string) {
	for p := range packages {
		names = append(names, p.Dir)
	}
	slices.Sort(names)
	return names
}

func TestATreeHasAllPackagesOfAllModules(t *testing.T) {
	tr := tree(t, two)
	require.Equal(t, []string{".", "a", "b", "c", "d", "sub/x", "sub/x/y"}, slices.Sorted(maps.Keys(tr.Packages)))
	require.Equal(t, []string{"a/a.go", "a/a.s", "a/a_windows.go", "a/data/page.html", "a/testdata/p/p.go", "a/testdata/x.md"},
		tr.Packages["a"].Files)
	require.Equal(t, []string{"doc.go"}, tr.Packages["."].Files)
	require.Equal(t, "sub", tr.Packages["sub/x"].Module)
	for dir, pattern := range map[string]string{".": ".", "a": "./a", "sub/x": "./x", "sub/x/y": "./x/y"} {
		require.Equal(t, pattern, tr.Packages[dir].Pattern())
	}
	require.True(t, tr.Packages["d"].Explored())
	require.False(t, tr.Packages["c"].Explored())
	require.True(t, tr.Packages["c"].HasTests())
	require.False(t, tr.Packages["a"].HasTests())
	require.Nil(t, tr.Owner("sub/list.json"))
	require.Nil(t, tr.Owner("scripts/nothing-of-go"))
	require.Equal(t, []string{"sub/go.mod", "sub/go.sum"}, tr.Packages["sub/x"].ModuleFiles())
}

// What tests import counts for the package itself, and not for those that import it.
func TestAClosureIsWhatTestsAreMadeOf(t *testing.T) {
	tr := tree(t, two)
	for dir, want := range map[string][]string{
		"a":     {"a", "c"}, // on Windows
		"b":     {"a", "b", "c", "d"},
		"c":     {"a", "b", "c"},
		"sub/x": {"a", "b", "c", "sub/x"},
	} {
		require.Equal(t, want, dirs(tr.Closure(tr.Packages[dir])), dir)
	}
}

func TestInputsAreWithoutTheTestsOfOthers(t *testing.T) {
	tr := tree(t, two)
	require.Equal(t, []string{
		"a/a.go", "a/a.s", "a/a_windows.go", "a/data/page.html", "a/testdata/p/p.go", "a/testdata/x.md",
		"b/b.go", "b/b_test.go", "c/c.go", "d/d.go", "go.mod", "go.sum",
	}, tr.Inputs(tr.Packages["b"]))
}

func TestPatternsAreThoseOfTheGoCommand(t *testing.T) {
	tr := tree(t, two)
	for _, c := range []struct {
		module, pattern string
		want            []string
	}{
		{".", "./...", []string{".", "a", "b", "c", "d"}},
		{".", "./a", []string{"a"}},
		{".", "./a/...", []string{"a"}},
		{".", ".", []string{"."}},
		{"sub", "./...", []string{"sub/x", "sub/x/y"}},
		{"sub", "./x", []string{"sub/x"}},
	} {
		found, err := tr.Match(c.module, c.pattern)
		require.NoError(t, err, c.pattern)
		var names []string
		for _, p := range found {
			names = append(names, p.Dir)
		}
		require.Equal(t, c.want, names, "%s %s", c.module, c.pattern)
	}
	_, err := tr.Match(".", "./e")
	require.ErrorContains(t, err, "no package matches ./e")
	_, err = tr.Match("sup", "./...")
	require.ErrorContains(t, err, "no module sup")
}
