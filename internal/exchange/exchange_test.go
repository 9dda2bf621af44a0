package exchange

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var imports = Imports{"sync": "example.org/x/sync", "example.org/old/semaphore": "example.org/x/semaphore"}

// files are sources, and what they become.
var files = map[string]struct{ source, want string }{
	"alone":    {"package a\n\nimport \"sync\"\n", "package a\n\nimport \"example.org/x/sync\"\n"},
	"renamed":  {"package a\n\nimport gosync \"sync\"\n", "package a\n\nimport gosync \"example.org/x/sync\"\n"},
	"by a dot": {"package a\n\nimport . \"sync\"\n", "package a\n\nimport . \"example.org/x/sync\"\n"},
	"blank":    {"package a\n\nimport _ \"sync\"\n", "package a\n\nimport _ \"example.org/x/sync\"\n"},
	"raw":      {"package a\n\nimport `sync`\n", "package a\n\nimport \"example.org/x/sync\"\n"},
	"several": {
		"package a\n\nimport (\n\t\"fmt\"\n\t\"sync\" // why\n\t\"sync/atomic\"\n\n\t\"example.org/old/semaphore\"\n)\n\n" +
			"const text = \"sync\"\n",
		"package a\n\nimport (\n\t\"fmt\"\n\t\"example.org/x/sync\" // why\n\t\"sync/atomic\"\n\n\t\"example.org/x/semaphore\"\n)\n\n" +
			"const text = \"sync\"\n",
	},
	"with constraints": {
		"//go:build linux && !race\n\n// Package a does.\npackage a\n\nimport \"sync\"\n",
		"//go:build linux && !race\n\n// Package a does.\npackage a\n\nimport \"example.org/x/sync\"\n",
	},
	"with lines of another file": {
		"package a\n\n//line a.y:1000\nimport \"sync\"\n",
		"package a\n\n//line a.y:1000\nimport \"example.org/x/sync\"\n",
	},
	"with another alphabet": {"package a // é\n\nimport \"sync\"\n", "package a // é\n\nimport \"example.org/x/sync\"\n"},
	"without":               {"package a\n\nimport \"sync/atomic\"\n\nvar _ = \"sync\"\n", ""},
}

func TestOnlyThePathsOfImportsChange(t *testing.T) {
	for name, c := range files {
		t.Run(name, func(t *testing.T) {
			changed, err := imports.Source("a.go", []byte(c.source))
			require.NoError(t, err)
			require.Equal(t, c.want, string(changed))
		})
	}
	_, err := imports.Source("a.go", []byte("packet a"))
	require.Error(t, err)
}

// The command in the guide changes as much, but for the semaphore's path and quotes that nobody
// writes.
func TestTheGuidesCommandDoesTheSame(t *testing.T) {
	if err := exec.Command("sed", "--version").Run(); err != nil {
		t.Skip("no GNU sed")
	}
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "migrating.md"))
	require.NoError(t, err)
	script := regexp.MustCompile(`sed -i -E '([^']+)'`).FindSubmatch(guide)
	require.NotNil(t, script)
	for name, c := range files {
		if name == "raw" {
			continue
		}
		sed := exec.Command("sed", "-E", string(script[1]))
		sed.Stdin = strings.NewReader(c.source)
		out, err := sed.Output()
		require.NoError(t, err)
		want, err := Imports{"sync": "github.com/farad-go/farad/sync"}.Source("a.go", []byte(c.source))
		require.NoError(t, err)
		if want == nil {
			want = []byte(c.source)
		}
		require.Equal(t, string(want), string(out), name)
	}
}

// The go command sees the changed files, and the files are as they were.
func TestTheGoCommandReadsTheOverlay(t *testing.T) {
	const source = "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(0) }\n"
	module, folder := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.org/program\n\ngo 1.26\n",
		"main.go":            source,
		"os/os.go":           "package os\n\nfunc Exit(int) { println(\"exchanged\") }\n",
		"testdata/broken.go": "packet",
		"_old/broken.go":     "packet",
		"sub/_broken.go":     "packet",
		"sub/sub.go":         "package sub\n\nimport _ \"os\"\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(module, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(module, name), []byte(text), 0o600))
	}
	overlay, err := Imports{"os": "example.org/program/os"}.Files(module, folder)
	require.NoError(t, err)
	require.Len(t, overlay, 2)
	file := filepath.Join(folder, "overlay.json")
	require.NoError(t, overlay.Write(file))
	program := exec.Command("go", "run", "-overlay="+file, ".")
	program.Dir = module
	out, err := program.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "exchanged\n", string(out))
	text, err := os.ReadFile(filepath.Join(module, "main.go"))
	require.NoError(t, err)
	require.Equal(t, source, string(text))
}
