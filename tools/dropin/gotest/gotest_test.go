package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var files = map[string]string{
	"go.mod":    "module example.org/m\n\ngo 1.26\n",
	"a/a.go":    "package a\n",
	"none/n.go": "package none\n",
	"a/a_test.go": `package a

import "testing"

func TestPasses(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }

func TestSkips(t *testing.T) { t.Skip("today") }

func TestFails(t *testing.T) {
	t.Log("first")
	t.Run("sub", func(t *testing.T) { t.Error("second") })
	t.Error("third")
}
`,
	"panics/p_test.go":    "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) {\n\tprintln(\"before\")\n\tpanic(\"in a test\")\n}\n",
	"exits/e_test.go":     "package exits\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tprintln(\"leaked\")\n\tos.Exit(1)\n}\n\nfunc TestPasses(t *testing.T) {}\n",
	"hangs/h_test.go":     "package hangs\n\nimport \"testing\"\n\nfunc TestHangs(t *testing.T) { select {} }\n\nfunc TestTicks(t *testing.T) {}\n",
	"broken/b_test.go":    "package broken\n\nfunc f() { undefined() }\n",
	"imports/i.go":        "package imports\n\nimport _ \"example.org/m/broken2\"\n",
	"imports/i_test.go":   "package imports\n\nimport \"testing\"\n\nfunc TestPasses(t *testing.T) {}\n",
	"broken2/b.go":        "package broken2\n\nvar x int = \"\"\n",
	"alone/alone_test.go": "package alone\n\nimport \"testing\"\n\nfunc TestAlone(t *testing.T) {}\n",
}

func module(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

func TestWhatBecomesOfTests(t *testing.T) {
	folder := module(t)
	r, err := Run(folder, []string{"GOFLAGS="}, "-vet=off",
		"./a", "./none", "./panics", "./exits", "./broken", "./imports", "./broken2", "./alone")
	require.NoError(t, err)
	require.Equal(t, 7, r.Packages, "all but the one without tests")
	require.Equal(t, map[string]bool{
		"example.org/m/a TestPasses":     true,
		"example.org/m/exits TestPasses": true,
		"example.org/m/alone TestAlone":  true,
	}, r.Passed)
	require.Positive(t, r.Seconds)
	want := map[string]Failure{}
	for _, f := range []Failure{
		{"example.org/m/a", "TestFails", "a_test.go:10: first", false},
		{"example.org/m/panics", "TestPanics", "panic: in a test [recovered, repanicked]", false},
		{"example.org/m/exits", Exit, "leaked", false},
		{"example.org/m/broken", Build, "broken/b_test.go:3:12: undefined: undefined", false},
		{"example.org/m/imports", Build, `broken2/b.go:3:13: cannot use "" (untyped string constant) as int value in variable declaration`, false},
		{"example.org/m/broken2", Build, `broken2/b.go:3:13: cannot use "" (untyped string constant) as int value in variable declaration`, false},
	} {
		want[f.Key()] = f
	}
	require.Equal(t, want, r.Failed)

	r, err = Run(folder, []string{"GOFLAGS="}, "-timeout=1s", "./hangs")
	require.NoError(t, err)
	require.Equal(t, map[string]Failure{
		"example.org/m/hangs TestHangs": {"example.org/m/hangs", "TestHangs", "panic: test timed out after 1s", true},
	}, r.Failed)

	r, err = Run(folder, []string{"GOFLAGS="}, "-run=TestAlone", "./alone")
	require.NoError(t, err)
	require.Len(t, r.Passed, 1)
	require.Empty(t, r.Failed)

	_, err = Run(folder, nil, "-timeout=nonsense")
	require.ErrorContains(t, err, "nonsense")
}

func TestOutputThatIsNotOfTests(t *testing.T) {
	r, err := parse(strings.NewReader("go: downloading m\n\n{\"Action\":\"skip\",\"Package\":\"p\"}\n"))
	require.NoError(t, err)
	require.Zero(t, r.Packages)
	_, err = parse(strings.NewReader("{\n"))
	require.Error(t, err)
}

func TestReasonSaysMost(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                "",
		"=== RUN T\n    a.go:1: a\n":      "a.go:1: a",
		"# p\na.go:1: a\na.go:2: b\n":     "a.go:1: a",
		"a.go:1: a\npanic: b\n":           "panic: b",
		"===\nWARNING: DATA RACE\nRead\n": "WARNING: DATA RACE",
		"--- FAIL: T\nFAIL\n":             "",
		"    a.go:1: \n  Error Trace:\ta.go:1\n  Error:  \tNot equal\n": "Error:  \tNot equal",
	} {
		require.Equal(t, want, reason(strings.Split(lines, "\n")), lines)
	}
}
