package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
	require.Equal(t, map[string][]Span{
		"p/a.go": {{3, 3}, {13, 13}, {23, 24}, {40, 40}},
		"new.go": {{2, 2}},
	}, changed)
}

// A comment is no change of a Go file; what is gone, new or no Go is one.
func TestChangedFiles(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		me := []string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.Command("git", append(me, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	git("init", "-q")
	for _, name := range []string{"comment.go", "code.go", "gone.go", "same.go"} {
		write(name, "package p\n")
	}
	write("data.txt", "a\n")
	git("add", ".")
	git("commit", "-q", "-m", "all")

	write("comment.go", "// Package p.\npackage p\n")
	write("code.go", "package p\n\nvar x int\n")
	write("data.txt", "b\n")
	write("new.go", "package p\n")
	require.NoError(t, os.Remove(filepath.Join(root, "gone.go")))
	got, err := ChangedFiles(t.Context(), root, "HEAD")
	require.NoError(t, err)
	require.Equal(t, []string{"code.go", "data.txt", "gone.go", "new.go"}, got)
	_, err = ChangedFiles(t.Context(), root, "nowhere")
	require.ErrorContains(t, err, "nowhere")
}
