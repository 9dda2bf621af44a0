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
)

func TestChangedLinesAreReadFromADiff(t *testing.T) {
	changed, err := parseDiff([]byte(`diff --git a/p/a.go b/p/a.go
index 1..2 100644
--- a/p/a.go
+++ b/p/a.go
@@ -3 +3 @@ package p
-old
+new
@@ -10,0 +11,3 @@ func f() {
+	// only a comment
+
+	code()
@@ -20,2 +23,0 @@ func g() {
-	gone()
-	gone()
@@ -30,1 +30,0 @@ func h() {
-	// a comment that is gone
@@ -40 +40 @@ func i() {
---- not a head
++++ not a head
diff --git a/gone.go b/gone.go
deleted file mode 100644
--- a/gone.go
+++ /dev/null
@@ -1,2 +0,0 @@
-package p
-code
diff --git a/old.go b/new.go
similarity index 90%
rename from old.go
rename to new.go
--- a/old.go
+++ b/new.go
@@ -2 +2 @@ package p
-a
+b
`))
	require.NoError(t, err)
	assert.Equal(t, map[string][]span{
		"p/a.go": {{3, 3}, {13, 13}, {23, 24}, {40, 40}},
		"new.go": {{2, 2}},
	}, changed)
}

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
		changed span
		want    []string
	}{
		{span{1, 2}, nil},
		{span{3, 3}, []string{"f"}},
		{span{4, 4}, []string{"f"}},
		{span{6, 6}, nil},
		{span{5, 7}, []string{"f", "g"}},
		{span{10, 11}, []string{"g"}},
		{span{12, 12}, []string{"v"}},
		{wholeFile, []string{"f", "g", "v"}},
	} {
		fns := map[string]bool{}
		for _, m := range inChanged(mutants, map[string][]span{"p/a.go": {tt.changed}, "p/b.go": {wholeFile}}) {
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
	require.NoError(t, err, "no test is run where nothing is to be judged")
	assert.True(t, ok)
}
