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

func repository(t *testing.T) (root string, write func(name, text string)) {
	t.Helper()
	root = t.TempDir()
	write = func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for name, text := range map[string]string{
		"go.mod":                  "module m\n",
		"doc.go":                  "package m\n",
		"doc_test.go":             "package m\n",
		"low/low.go":              "package low\n",
		"low/low_test.go":         "package low\nfunc f() { " + "interleave." + "Check(t, nil) }\n",
		"high/high.go":            "package high\nimport _ \"m/low\"\n",
		"high/high_test.go":       "package high\nfunc f() { " + "interleave." + "Check(t, nil) }\n",
		"apart/apart.go":          "package apart\n",
		"apart/apart_test.go":     "package apart\n",
		"examples/one/main.go":    "package main\nimport _ \"m/high\"\n",
		"other/go.mod":            "module m/other\n",
		"other/user/user.go":      "package user\nimport _ \"m/low\"\n",
		"other/user/user_test.go": "package user\n",
		"README.md":               "prose\n",
		"Makefile":                "all:\n",
	} {
		write(name, text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "all"}} {
		me := []string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.Command("git", append(me, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return root, write
}

func TestWhatAChangeAffects(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // the commands
	}{
		{"low/low.go", "package low\n\nvar x int\n", []string{
			"go test -short . ./high ./low",
			"go -C other test -short ./user",
			"go test -short -race ./low",
			"go test -short -tags interleave -run Model ./high ./low",
			"go -C tools run ./mutate -changed HEAD -max 6 low",
		}},
		{"low/low.go", "// Package low.\npackage low\n", nil}, // only a comment
		{"low/low_test.go", "package low\nfunc g() { " + "interleave." + "Check(t, nil) }\n", []string{
			"go test -short . ./low",
			"go test -short -race ./low",
			"go test -short -tags interleave -run Model ./low",
		}},
		{"low/testdata/new", "data\n", []string{
			"go test -short . ./high ./low",
			"go -C other test -short ./user",
			"go test -short -race ./low",
			"go test -short -tags interleave -run Model ./high ./low",
		}},
		{"examples/one/main.go", "package main\n\nvar x int\n", []string{"go test -short ."}}, // without a test
		{"other/go.mod", "module m/other\n\ngo 1.26.0\n", []string{
			"go test -short .", "go -C other test -short ./user", "go -C other test -short -race ./user",
		}},
		{"README.md", "other prose\n", []string{"go test -short ."}},
		{"Makefile", "none:\n", []string{"go test -short ."}},
	} {
		root, write := repository(t)
		write(c.name, c.text)
		var out bytes.Buffer
		ok, err := run(t.Context(), root, []string{"-n", "-since", "HEAD"}, &out)
		require.NoError(t, err)
		require.True(t, ok)
		var commands []string
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "go ") {
				commands = append(commands, strings.TrimSpace(line))
			}
		}
		require.Equal(t, c.want, commands, "%s:\n%s", c.name, &out)
		require.Equal(t, c.name == "Makefile", strings.Contains(out.String(), "no package reads Makefile"))
	}
}

func TestAFailureIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for the race detector")
	}
	root, write := repository(t)
	write("apart/apart_test.go", "package apart\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) { t.Fatal(\"no\") }\n")
	var out bytes.Buffer
	ok, err := run(t.Context(), root, []string{"-since", "HEAD"}, &out)
	require.NoError(t, err)
	require.False(t, ok)
	require.Contains(t, out.String(), "FAILED")
	_, err = run(t.Context(), root, []string{"-since", "nowhere"}, &out)
	require.ErrorContains(t, err, "nowhere")
}
