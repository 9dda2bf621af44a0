package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiny is a module with a function for each fate of a mutant.
var tiny = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26\n",
	"tiny.go": `package tiny

import "sync/atomic"

func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func Count(n int) int {
	c := 0
	for c < n {
		c++
	}
	return c
}

var word atomic.Int64

func Take() bool { return word.CompareAndSwap(0, 1) }
`,
	"tiny_test.go": `package tiny

import "testing"

func TestTiny(t *testing.T) {
	if Larger(1, 2) != 2 || Larger(2, 1) != 2 || Count(3) != 3 {
		t.Fatal("wrong")
	}
}

func TestTake(t *testing.T) {
	if !Take() || Take() {
		t.Fatal("wrong")
	}
}
`,
	// Not part of the program that is shipped or explored.
	"model.go":   "//go:build interleave\n\npackage tiny\n\nfunc model() {}\n",
	"shipped.go": "//go:build !interleave\n\npackage tiny\n\nfunc shipped() bool { return true }\n",
	"errors.go":  "package tiny\n\nfunc errors() bool { return true }\n",
}

func tinyModule(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: ", err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range tiny {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
}

func TestListRunsNothing(t *testing.T) {
	tinyModule(t)
	var out bytes.Buffer
	ok, err := run(t.Context(), []string{"-list", "-tests", "-no-such-flag", "."}, &out)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Regexp(t, `(?m)^tiny\.go:Larger:relational:\w{6}\t6\tLarger relational: a > b -> >=$`, out.String())
	assert.Regexp(t, `(?m)^tiny\.go:Take:torn:\w{6}\t`, out.String())
	assert.NotRegexp(t, `(?m)^(model|shipped|errors|tiny_test)\.go`, out.String())

	gone := filepath.Join(t.TempDir(), "equivalent.txt")
	require.NoError(t, os.WriteFile(gone, []byte("tiny.go:Larger:drop:000000\tno reason\n"), 0o600))
	ok, err = run(t.Context(), []string{"-list", "-equivalent", gone, "."}, io.Discard)
	require.NoError(t, err)
	assert.False(t, ok, "a listed mutant that does not exist")
}

func TestRunTellsTheFates(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command several times")
	}
	tinyModule(t)
	md := filepath.Join(t.TempDir(), "summary.md")
	var out bytes.Buffer
	ok, err := run(t.Context(), []string{
		"-md", md, "-tests", "-run Tiny .", "-tests", ".",
		"-run", ":(Larger:relational|Larger:negate|Take:blind):", "tiny.go",
	}, &out)
	require.NoError(t, err)
	assert.False(t, ok, "one survives")
	text := out.String()
	assert.Regexp(t, `(?m)^\[[1-3]/3\] killed     tiny\.go:6 Larger negate: a > b  \(.*s\) TestTiny$`, text)
	assert.Regexp(t, `(?m)^\[[1-3]/3\] killed     tiny\.go:22 Take blind: .* TestTake$`, text)
	assert.Regexp(t, `(?m)^\[[1-3]/3\] SURVIVED   tiny\.go:6 Larger relational: a > b -> >=`, text)
	assert.Contains(t, text, "\n- killed by `go test -run Tiny .`: 1\n- killed by `go test .`: 1\n")
	assert.Contains(t, text, "\n- killed by a timeout: 0\n")
	assert.Contains(t, text, "```diff\n-\tif a > b {\n+\tif a >= b {\n```\n")
	summary, err := os.ReadFile(md)
	require.NoError(t, err)
	assert.Contains(t, text, string(summary))
	assert.Regexp(t, `(?m)^\| all +\| +\| +3 \| +2 \| +0 \| +0 \| +1 \|$`, string(summary))
	changed, err := os.ReadFile("tiny.go")
	require.NoError(t, err)
	assert.Equal(t, tiny["tiny.go"], string(changed), "the tree is left alone")

	survivor := regexp.MustCompile("Survived: `(.*)`").FindStringSubmatch(text)
	require.NotNil(t, survivor)
	list := "# none other\n" + survivor[1] + "\tboth are as large\n"
	require.NoError(t, os.WriteFile("equivalent.txt", []byte(list), 0o666))
	out.Reset()
	ok, err = run(t.Context(), []string{
		"-equivalent", "equivalent.txt", "-tests", ".", "-run", ":Larger:relational:", "tiny.go",
	}, &out)
	require.NoError(t, err)
	assert.True(t, ok, "the survivor is listed")
	assert.Contains(t, out.String(), "[1/1] equivalent tiny.go:6")

	out.Reset()
	ok, err = run(t.Context(), []string{"-timeout", "2s", "-tests", ".", "-run", ":Count:drop:", "tiny.go"}, &out)
	require.NoError(t, err)
	assert.True(t, ok, "a timeout is a kill")
	assert.Contains(t, out.String(), "[1/1] killed (timeout) tiny.go:15 Count drop: c++  (")

	// After a test that hangs no other is run; after a search that takes too long one is.
	for _, tt := range []struct{ first, fate string }{
		{"-run Tiny .", "[1/1] killed (timeout) tiny.go:15 Count drop: c++  ("},
		{"-tags interleave -run Tiny .", "[1/1] killed     tiny.go:15 Count drop: c++  ("},
	} {
		out.Reset()
		// A slow machine may need more time to build and run the second.
		for limit := 6 * time.Second; !strings.Contains(out.String(), tt.fate) && limit < time.Minute; limit *= 2 {
			out.Reset()
			second := fmt.Sprintf("-timeout %v .", limit/8)
			ok, err = run(
				t.Context(),
				[]string{
					"-timeout",
					limit.String(),
					"-tests",
					tt.first,
					"-tests",
					second,
					"-run",
					":Count:drop:",
					"tiny.go",
				},
				&out,
			)
			require.NoError(t, err)
			assert.True(t, ok)
		}
		assert.Contains(t, out.String(), tt.fate)
	}
}

func TestBaselineMustPass(t *testing.T) {
	tinyModule(t)
	_, err := run(t.Context(), []string{"-tests", "-no-such-flag", "tiny.go"}, new(bytes.Buffer))
	assert.ErrorContains(t, err, "without any mutant: go test -no-such-flag")
}

func TestStopsWhenInterrupted(t *testing.T) {
	tinyModule(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := writerFunc(func([]byte) (int, error) { // the first word is that the baseline passes
		cancel()
		return 0, nil
	})
	_, err := run(ctx, []string{"-tests", "-run none .", "tiny.go"}, out)
	assert.ErrorIs(t, err, context.Canceled)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestWatcherStopsAtTheFirstFailure(t *testing.T) {
	failed := 0
	w := &watcher{failed: func() { failed++ }}
	for _, s := range []string{"ok  \ta\t1s\n--- FAIL: TestX (0.00s)\n", "FAIL\nFA", "IL\tb\t0.1s"} {
		_, err := w.Write([]byte(s))
		require.NoError(t, err)
		assert.Zero(t, failed)
	}
	_, err := w.Write([]byte("\n"))
	require.NoError(t, err)
	assert.Equal(t, 1, failed)
	assert.Equal(t, "TestX", cause(w.text.Bytes()))
	assert.False(t, buildFailed.Match(w.text.Bytes()))
	assert.True(t, buildFailed.MatchString("x\nFAIL\ta/b [build failed]\n"))
}

func TestWatcherKeepsStartAndEnd(t *testing.T) {
	failed := false
	w := &watcher{failed: func() { failed = true }}
	_, err := w.Write([]byte("--- FAIL: TestX (0.00s)\n"))
	require.NoError(t, err)
	for range 50 {
		_, err := w.Write(bytes.Repeat([]byte("chatter\n"), 1000))
		require.NoError(t, err)
		assert.LessOrEqual(t, w.text.Len(), 4*outputKept)
	}
	require.False(t, failed)
	_, err = w.Write([]byte("FAIL\ta\t1s\n"))
	require.NoError(t, err)
	assert.True(t, failed)
	assert.Equal(t, "TestX", cause(w.text.Bytes()))
}

func TestCause(t *testing.T) {
	assert.Equal(t, "TestA/b", cause([]byte("x\n    --- FAIL: TestA/b (0.00s)\n--- FAIL: TestA (0.00s)\npanic: no\n")))
	assert.Equal(t, "fatal error: all goroutines are asleep", cause([]byte("fatal error: all goroutines are asleep\n")))
	assert.Empty(t, cause([]byte("FAIL\n")))
}

func TestAFilesOwnTestsComeFirst(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "p"), 0o700))
	for name, text := range map[string]string{
		"x.go":            "func TestOfNoTestFile() {}\n",
		"x_test.go":       "func TestA(t *testing.T) {\n}\n\nfunc help() {}\n\nfunc TestB(t *testing.T) {}\n",
		"x_model_test.go": "func TestModelA(t *testing.T) {}\n",
		"xy_test.go":      "func TestC(t *testing.T) {}\n",
		"model_test.go":   "func TestModelD(t *testing.T) {}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "p", name), []byte(text), 0o600))
	}
	all := testsOfFolder(root, "p")
	assert.Equal(t, append([]string{
		"-tags interleave -short -run ^(TestModelA)$ ./p",
		"-short -run ^(TestA|TestB)$ ./p",
		"-race -short -run ^(TestA|TestB)$ ./p",
	}, all...), testsOf(root, "p/x.go"))
	assert.Equal(t, all, testsOf(root, "p/y.go"))

	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "go.mod"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(root, "p", "q"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "q", "z_test.go"), []byte("func TestZ()\n"), 0o600))
	of := testsOf(root, "p/x.go")
	assert.Equal(t, "-C p -short -run ^(TestA|TestB)$ .", of[1], "of a module")
	of = testsOf(root, "p/q/z.go")
	assert.Equal(t, "-C p -short -run ^(TestZ)$ ./q", of[0])
	assert.Contains(t, of, "-C p -race -short ./q")
}

// A module below the root's is judged from within.
func TestMutantsOfAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command several times")
	}
	tinyModule(t)
	require.NoError(t, os.MkdirAll(filepath.Join("other", "p"), 0o700))
	for _, name := range []string{"tiny.go", "tiny_test.go"} {
		require.NoError(t, os.WriteFile(filepath.Join("other", "p", name), []byte(tiny[name]), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join("other", "go.mod"), []byte("module other\n\ngo 1.26\n"), 0o600))
	var out bytes.Buffer
	ok, err := run(t.Context(), []string{"-run", ":Larger:negate:", "tiny.go", "other/p"}, &out)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Regexp(t, `(?m)^\[./2\] killed     tiny\.go:6 `, out.String())
	assert.Regexp(t, `(?m)^\[./2\] killed     other/p/tiny\.go:6 `, out.String())
	assert.Contains(t, out.String(), "- killed by `go test -short -run ^(TestTiny|TestTake)$ ./.`: 1\n")
	assert.Contains(t, out.String(), "- killed by `go test -C other -short -run ^(TestTiny|TestTake)$ ./p`: 1\n")
}

func TestChoose(t *testing.T) {
	var all []*mutant
	for id := range strings.FieldsSeq("a1 b1 a2 a3 b2 a4") {
		all = append(all, &mutant{id: id})
	}
	c, err := parse([]string{"-run", "^a", "-every", "2", "-offset", "1"})
	require.NoError(t, err)
	var ids []string
	for _, m := range choose(c, all) {
		ids = append(ids, m.id)
	}
	assert.Equal(t, []string{"a2", "a4"}, ids)
}

func TestEquivalents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalent.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o666)) }

	write("# comment\n\na.go:f:drop:1\tno matter\nb.go:f:drop:1\telsewhere\na.go:g:drop:2\tgone\n")
	listed, err := readEquivalents("", path)
	require.NoError(t, err)
	assert.Equal(t, "no matter", listed["a.go:f:drop:1"])
	root, files := t.TempDir(), []*file{{name: "a.go"}}
	for _, name := range []string{"a.go", "b.go"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	assert.Equal(t, []string{"a.go:g:drop:2"}, stale(listed, root, files, []*mutant{{id: "a.go:f:drop:1"}}))
	assert.Len(t, stale(listed, root, files, []*mutant{{id: "a.go:f:drop:1", broken: true}}), 2)
	require.NoError(t, os.Remove(filepath.Join(root, "b.go")))
	assert.ElementsMatch(t, []string{"a.go:g:drop:2", "b.go:f:drop:1"},
		stale(listed, root, files, []*mutant{{id: "a.go:f:drop:1"}}), "a file that is gone has no mutants")

	write("a.go:f:drop:1\n")
	_, err = readEquivalents("", path)
	assert.ErrorContains(t, err, ":1: expected 2 columns separated by tabs")
	write("a\tr\na\tr\n")
	_, err = readEquivalents("", path)
	assert.ErrorContains(t, err, ":2: a is listed twice")
}

func TestReportWantsNoSurvivorAndATrueList(t *testing.T) {
	m := &mutant{id: "a.go:f:drop:1", file: &file{name: "a.go"}, op: "drop"}
	for _, tt := range []struct {
		res  result
		want bool
		text string
	}{
		{result{outcome: killed}, true, ""},
		{result{outcome: timedOut}, true, "- killed by a timeout: 1"},
		{result{outcome: broken}, true, ""},
		{result{outcome: survived}, false, "Survived: `a.go:f:drop:1`"},
		{result{outcome: survived, listed: true}, true, ""},
		{result{outcome: killed, listed: true}, false, "Listed as equivalent, but killed: `a.go:f:drop:1`"},
	} {
		tt.res.mutant = m
		r := new(report)
		r.add(&tt.res)
		assert.Equal(t, tt.want, r.ok(), "%+v", tt.res)
		assert.Contains(t, r.markdown(), tt.text)
	}
	r := &report{stale: []string{"a.go:g:drop:2"}}
	assert.False(t, r.ok())
	assert.Contains(t, r.markdown(), "does not exist any more: `a.go:g:drop:2`")
}
