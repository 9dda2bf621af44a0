package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The third step is not named after its group.
const steps = "stress\tstress: all\t./...\tgo test ./...\n" +
	"interleave\tinterleave: a\t-without explored -C . ./a\tmodel_checks a model_checks () { go test; }\n" +
	"fuzz\trace: b\t./b list.txt\tgo test -fuzz\n"

// A repository is a folder with pages, and the command in it.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	for name, text := range map[string]string{
		"go.mod":      "module m\n",
		"list.txt":    "one\n",
		"a/a.go":      "// Package a.\npackage a\n\nvar x = 1\n",
		"a/a_test.go": "package a\nfunc f() { " + "interleave." + "Check(t, nil) }\n",
		"b/b.go":      "package b\nimport _ \"m/a\"\n",
		"b/b_test.go": "package b\n",
		nightlyPage:   "# Nothing yet\n",
		scenariosPage: "# Nothing yet\n",
	} {
		r.write(name, text)
	}
	out, err := exec.Command("git", "init", "-q", r.root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return r
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(filepath.Join(r.root, name)), 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o600))
}

func (r *repository) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.root, name))
	require.NoError(r.t, err)
	return string(text)
}

// run runs the command with these steps, and returns what it prints.
func (r *repository) run(steps string, args ...string) (ok bool, printed string) {
	r.t.Helper()
	var out bytes.Buffer
	ok, err := run(r.t.Context(), r.root, args, strings.NewReader(steps), &out)
	require.NoError(r.t, err)
	return ok, out.String()
}

// hashes returns those of the steps by name.
func (r *repository) hashes() map[string]string {
	r.t.Helper()
	_, list := r.run(steps, "list")
	hashes := map[string]string{}
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		hashes[f[3]] = f[1]
	}
	require.Len(r.t, hashes, 3)
	return hashes
}

// record merges an outcome of each step, as they are now.
func (r *repository) record(code string, names ...string) {
	r.t.Helper()
	r.write("searches", "| a | one | unbounded | exhausted | 2 | 9 | 100 | 5 | 0.1 s |\n"+
		"| a | two | bounded, 3 preemptions | exhausted | 3 | 9 | 20 | 5 | 0.1 s |\n"+
		"| a | three | PCT | sampled | 3 | 9 | 3 | 5 | 0.1 s |\n")
	var text strings.Builder
	for _, name := range names {
		text.WriteString(strings.Join([]string{
			name, code, "9", "2026-11-25", r.hashes()[name],
			filepath.Join(r.root, "searches"),
		}, "\t") + "\n")
	}
	r.write("outcomes", text.String())
	ok, _ := r.run(steps, "record", filepath.Join(r.root, "outcomes"))
	require.True(r.t, ok)
	require.NoError(r.t, os.Remove(filepath.Join(r.root, "outcomes")))
	require.NoError(r.t, os.Remove(filepath.Join(r.root, "searches")))
}

var names = []string{"stress: all", "interleave: a", "race: b"}

func TestAllStepsHaveRows(t *testing.T) {
	r := newRepository(t)
	ok, faults := r.run(steps, "check")
	require.False(t, ok)
	require.Contains(t, faults, `docs/nightly.md has no row for "race: b" of the group fuzz`)
	require.Contains(t, faults, `docs/design/scenarios.md has no row for a`)

	r.record("0") // no outcome: lines that say so
	ok, faults = r.run(steps+"fuzz\trace: c\t./b\tgo test\n", "check")
	require.False(t, ok)
	require.Equal(t, "docs/nightly.md has no row for \"race: c\" of the group fuzz\n"+
		"make rows adds and removes rows; it runs nothing\n", faults)
	ok, faults = r.run(steps, "check")
	require.True(t, ok, faults)
	require.Contains(t, r.read(nightlyPage), "|\n| stress | all |\n| interleave | a |\n| fuzz | race: b |\n")
	require.Contains(t, r.read(scenariosPage), "| never explored |\n|---|\n| a |\n")
	r.record("0", "interleave: a")
	ok, faults = r.run(steps, "check")
	require.True(t, ok, faults)
	require.Contains(t, r.read(nightlyPage), "| interleave | a | passed | 9 |")
	require.Contains(t, r.read(nightlyPage), "|\n| stress | all |\n| fuzz | race: b |\n")
	require.NotContains(t, r.read(scenariosPage), "never explored")
	ok, faults = r.run(steps, "check", "-fresh")
	require.False(t, ok)
	require.Contains(t, faults, "stale: race: b: not run")

	r.record("0", names...)
	ok, faults = r.run(steps, "check", "-fresh")
	require.True(t, ok, faults)
	require.Contains(t, r.read(scenariosPage), "| a | 3 | 1 | 1 | 1 | 123 | "+r.hashes()["interleave: a"]+" |")
	require.Contains(t, r.read(scenariosPage), "| **all** | 3 | 1 | 1 | 1 | 123 | |")
	require.NotContains(t, r.read(nightlyPage), "never run")

	// A step that is gone.
	ok, faults = r.run(strings.Replace(steps, "race: b", "race: c", 1), "check")
	require.False(t, ok)
	require.Contains(t, faults, `docs/nightly.md has a row for "fuzz: race: b", which is no step`)
}

func TestAFailureIsNotFresh(t *testing.T) {
	r := newRepository(t)
	r.record("0", names...)
	r.record("1", "interleave: a")
	_, faults := r.run(steps, "check", "-fresh")
	require.Equal(t, "stale: interleave: a: **failed**\n", faults)
	require.Contains(t, r.read(scenariosPage), "| 123 |", "of the run that passed")
}

func TestWhatAStepReads(t *testing.T) {
	r := newRepository(t)
	for _, c := range []struct {
		name, text string
		stale      []string
	}{
		{"a/a.go", "package a\n\nvar x = 2\n", names}, // b imports it
		{"a/a.go", "// Other words.\npackage a\n\n// x counts.\nvar x  =  1\n", nil},
		{"a/a.go", "// Package a.\npackage a\n\n//go:noinline\nvar x = 1\n", names},
		{"a/a_test.go", "package a\nfunc g() { " + "interleave." + "Check(t, nil) }\n", names[:2]}, // b does not import a test
		{"a/testdata/in", "data\n", names},
		{"a/a_arm64.s", "TEXT\n", names},
		{"b/b_test.go", "package b\nvar y = 1\n", []string{names[0], names[2]}},
		{"list.txt", "two\n", names[2:]},
		{"go.sum", "m v1 h1\n", names},
		{"README.md", "prose\n", nil},
		{"a/model_test.go", "//go:build explored && linux\n\npackage a\n", names[:1]},
		{"a/model_test.go", "//go:build explored || linux\n\npackage a\n", names[:2]},
		{"a/model_test.go", "//go:build !explored\n\npackage a\n", names[:2]},
		{"b/model.go", "//go:build explored\n\npackage b\n", []string{names[0], names[2]}},
	} {
		r = newRepository(t)
		before := r.hashes()
		r.write(c.name, c.text)
		var stale []string
		for _, name := range names {
			if r.hashes()[name] != before[name] {
				stale = append(stale, name)
			}
		}
		require.Equal(t, c.stale, stale, "%s: %q", c.name, c.text)
	}
	imports := "g\ta\t./b -imported ./a\tgo\n"
	list := func(steps string) string {
		_, printed := r.run(steps, "list")
		return printed
	}
	before := list(imports)
	r.write("a/a_test.go", "package a\n")
	require.Equal(t, before, list(imports), "a test that it does not run")
	r.write("a/a.go", "package a\n")
	require.NotEqual(t, before, list(imports))

	before = list(steps)
	_, after := r.run(strings.Replace(steps, "-fuzz", "-fuzz -race", 1), "list")
	require.NotEqual(t, before, after, "the step's definition")
}

func TestAllPackagesAreRun(t *testing.T) {
	r := newRepository(t)
	r.record("0")
	ok, faults := r.run("fuzz\trace: b\t./b list.txt\tgo test -fuzz\n", "check")
	require.False(t, ok)
	require.Contains(t, faults, "a: no step of the nightly checks runs it\n") // although b imports it
	require.Contains(t, faults, "a: no step of the nightly checks explores its scenarios\n")
	require.NotContains(t, faults, "b: no step")
}

func TestWrongInputIsRefused(t *testing.T) {
	r := newRepository(t)
	for _, c := range []struct{ steps, command, want string }{
		{"", "check", "no steps"},
		{"a line\n", "check", "not a step"},
		{"g\tone\t./a\tgo\ng\tone\t./b\tgo\n", "check", `two steps have the name "one"`},
		{"g\tone\t./c\tgo\n", "check", "no package matches ./c"},
		{"g\tone\tlist.txt\tgo\n", "check", "it reads no package"},
		{"g\tone\t./a none.txt\tgo\n", "check", "none.txt"},
		{steps, "improve", "no command"},
	} {
		_, err := run(t.Context(), r.root, []string{c.command}, strings.NewReader(c.steps), &bytes.Buffer{})
		require.ErrorContains(t, err, c.want, c.steps)
	}
	for text, want := range map[string]string{
		"half a line\n":                                    "not an outcome",
		"none\t0\t1\t2026-11-25\th\t-\n":                   "no step has the name",
		"interleave: a\t0\t1\t2026-11-25\th\t/none\n":      "/none",
		"interleave: a\t0\t1\t2026-11-25\th\tDIR/empty\n":  "nothing was explored",
		"interleave: a\t0\t1\t2026-11-25\th\tDIR/go.mod\n": "not a search",
	} {
		r.write("empty", "")
		r.write("outcomes", strings.ReplaceAll(text, "DIR", filepath.ToSlash(r.root)))
		_, err := run(t.Context(), r.root, []string{"record", filepath.Join(r.root, "outcomes")}, strings.NewReader(steps), &bytes.Buffer{})
		require.ErrorContains(t, err, want, text)
	}
}
