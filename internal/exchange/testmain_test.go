package exchange

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A TestMain is added where there is none, and changed where it runs the tests itself or by goleak.
// One that does something else with m is left as it is.
func TestTestsAreObserved(t *testing.T) {
	module, folder := t.TempDir(), t.TempDir()
	const head = "package x\n\nimport \"testing\"\n\n"
	for name, text := range map[string]string{
		"none/n_test.go":         "package none_test\n",
		"code/c.go":              "package code\n",
		"testdata/t_test.go":     "package broken",
		"own/o_test.go":          "package own\n",
		"own/m_test.go":          head + "func TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n",
		"leaks/l_test.go":        head + "func TestMain(tests *testing.M) {\n\tgoleak.VerifyTestMain(tests)\n}\n",
		"other/o_test.go":        head + "func TestMain(m *testing.M) {\n\tprepare(m)\n\tm.Run()\n}\n",
		"method/m_test.go":       head + "func (x) TestMain(m *testing.M) {}\n",
		"tags/a_test.go":         "//go:build a\n\n" + head + "func TestMain(m *testing.M) { m.Run() }\n",
		"tags/b_test.go":         "//go:build !a\n\n" + head + "func TestMain(m *testing.M) { m.Run() }\n",
		"nested/go.mod":          "module nested\n",
		"nested/n_test.go":       "package nested\n",
		"vendor/v/v_test.go":     "package v\n",
		"exchanged/sync_test.go": "package exchanged\n\nimport \"sync\"\n\nfunc TestMain(m *testing.M) { m.Run() }\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(module, name), []byte(text), 0o600))
	}
	o, err := imports.Files(module, folder)
	require.NoError(t, err)
	left, err := o.Observe(module, folder, "o/observetest")
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(module, "other", "o_test.go")}, left)
	const import2 = "package x; import faradtest \"o/observetest\"\n\nimport \"testing\"\n\n"
	added := func(pkg string) string {
		return "package " + pkg + "\n\nimport (\n\t\"testing\"\n\n\t\"o/observetest\"\n)\n\n" +
			"func TestMain(m *testing.M) { observetest.Main(m) }\n"
	}
	tagged := func(tag string) string {
		return "//go:build " + tag + "\n\n" + import2 + "func TestMain(faradM *testing.M) { m := faradtest.Wrap(faradM); m.Run() }\n"
	}
	want := map[string]string{
		"tags/a_test.go":                   tagged("a"),
		"tags/b_test.go":                   tagged("!a"),
		"none/farad_observetest_test.go":   added("none_test"),
		"method/farad_observetest_test.go": added("x"),
		"own/m_test.go": import2 + "func TestMain(faradM *testing.M) { m := faradtest.Wrap(faradM);\n" +
			"\tos.Exit(m.Run())\n}\n",
		"leaks/l_test.go": import2 + "func TestMain(faradM *testing.M) { tests := faradtest.Wrap(faradM);\n" +
			"\tgoleak.VerifyTestMain(tests)\n}\n",
		"exchanged/sync_test.go": "package exchanged; import faradtest \"o/observetest\"\n\nimport \"example.org/x/sync\"\n\n" +
			"func TestMain(faradM *testing.M) { m := faradtest.Wrap(faradM); m.Run() }\n",
	}
	require.Len(t, o, len(want))
	for name, text := range want {
		got, err := os.ReadFile(o[filepath.Join(module, filepath.FromSlash(name))])
		require.NoError(t, err, name)
		require.Equal(t, text, string(got), name)
		if lines := strings.Count(text, "\n"); strings.HasPrefix(text, "package x;") {
			require.Equal(t, 7, lines, "all stays in its line")
		}
	}
}
