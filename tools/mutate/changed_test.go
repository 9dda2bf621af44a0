package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/tools/internal/repo"
)

func TestMutantsOfChangedFunctionsAreChosen(t *testing.T) {
	mutants := snippet(t, `func f() { // line 3
	call()
}

func g() { // line 7
	call()
	call(1)
}

var v, _ = func() (int, bool) { return 1, true }() // line 12`)
	for _, tt := range []struct {
		changed repo.Span
		want    []string
	}{
		{repo.Span{First: 1, Last: 2}, nil},
		{repo.Span{First: 3, Last: 3}, []string{"f"}},
		{repo.Span{First: 4, Last: 4}, []string{"f"}},
		{repo.Span{First: 6, Last: 6}, nil},
		{repo.Span{First: 5, Last: 7}, []string{"f", "g"}},
		{repo.Span{First: 10, Last: 11}, []string{"g"}},
		{repo.Span{First: 12, Last: 12}, []string{"v"}},
		{repo.WholeFile, []string{"f", "g", "v"}},
	} {
		fns := map[string]bool{}
		for _, m := range inChanged(mutants, map[string][]repo.Span{"p/a.go": {tt.changed}, "p/b.go": {repo.WholeFile}}) {
			fns[m.fn] = true
		}
		want := map[string]bool{}
		for _, fn := range tt.want {
			want[fn] = true
		}
		assert.Equal(t, want, fns, "%v", tt.changed)
	}
}

func TestMaxIsSpread(t *testing.T) {
	var all []*mutant
	for i := range 10 {
		all = append(all, &mutant{id: fmt.Sprint(i)})
	}
	ids := func(mutants []*mutant) (ids string) {
		for _, m := range mutants {
			ids += m.id
		}
		return ids
	}
	const whole = "0123456789"
	for n, want := range map[int]string{0: whole, 1: "0", 3: "036", 5: "02468", 10: whole, 11: whole} {
		assert.Equal(t, want, ids(spread(all, n)), n)
	}
	c, err := parse([]string{"-run", "[02468]", "-max", "2"})
	require.NoError(t, err)
	assert.Equal(t, "04", ids(choose(c, all)))
	_, err = parse([]string{"-max", "-1"})
	assert.Error(t, err)
}

func TestChangedSinceACommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git: ", err)
	}
	tinyModule(t)
	git := func(args ...string) {
		t.Helper()
		me := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.Command("git", append(me, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	list := func(args ...string) (fns []string) {
		t.Helper()
		var out bytes.Buffer
		ok, err := run(t.Context(), append([]string{"-list", "-changed", "HEAD"}, args...), &out)
		require.NoError(t, err)
		assert.True(t, ok)
		for _, m := range regexp.MustCompile(`(?m)^(\w+\.go:\w+):`).FindAllStringSubmatch(out.String(), -1) {
			if len(fns) == 0 || fns[len(fns)-1] != m[1] {
				fns = append(fns, m[1])
			}
		}
		return fns
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "tiny")
	assert.Empty(t, list("."), "nothing has changed")

	text := strings.Replace(tiny["tiny.go"], "c < n", "c != n", 1)
	text = strings.Replace(text, "\treturn b\n", "\t// b is as large\n\treturn b\n", 1)
	require.NoError(t, os.WriteFile("tiny.go", []byte(text), 0o600))
	assert.Equal(t, []string{"tiny.go:Count"}, list("."), "a comment is no change")
	require.NoError(t, os.WriteFile("new.go", []byte("package tiny\n\nfunc New() bool { return true }\n"), 0o600))
	assert.Equal(t, []string{"new.go:New", "tiny.go:Count"}, list("."), "nor need git know the file")
	assert.Equal(t, []string{"new.go:New"}, list("-max", "1", "."))
	assert.Equal(t, []string{"tiny.go:Count"}, list("tiny.go"))

	var out bytes.Buffer
	_, err := run(t.Context(), []string{"-list", "-changed", "no-such-commit", "."}, &out)
	assert.ErrorContains(t, err, "git ")

	git("add", ".")
	git("commit", "-q", "-m", "changed")
	out.Reset()
	ok, err := run(t.Context(), []string{"-changed", "HEAD", "-tests", "-no-such-flag", "."}, &out)
	require.NoError(t, err, "no test runs if there is nothing to judge")
	assert.True(t, ok)
}
