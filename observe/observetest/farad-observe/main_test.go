package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module whose tests pass, though two functions take two locks in both orders.
var shop = map[string]string{
	"shop.go": `package shop

import "sync"

var a, b sync.Mutex

func pay() { a.Lock(); b.Lock(); b.Unlock(); a.Unlock() }

func audit() { b.Lock(); a.Lock(); a.Unlock(); b.Unlock() }
`,
	"shop_test.go": `package shop

import "testing"

func TestBoth(t *testing.T) { done := make(chan bool); go func() { pay(); close(done) }(); <-done; audit() }
`,
	"till/till_test.go": `package till

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { defer os.Exit(0); use(m) }

func use(m *testing.M) { m.Run() }

func TestTill(t *testing.T) {}
`,
}

// A flag in the environment has the tests of a module observed. No file changes.
func TestModuleIsObservedByItsEnvironment(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module")
	}
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	write := func(name, text string) {
		name = filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("go.mod", "module example.org/shop\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+root+"\n")
	write("go.sum", string(sums))
	for name, text := range shop {
		write(name, text)
	}
	run := func(flags, name string, args ...string) (string, string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS="+flags, "GOWORK=off")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	const command = module + "/observe/observetest/farad-observe"
	_, problems, err := run("", "go", "mod", "edit", "-tool="+command)
	require.NoError(t, err, problems)
	_, problems, err = run("-mod=mod", "go", "build", "-o", os.DevNull, command) // completes go.mod
	require.NoError(t, err, problems)

	out, _, err := run("", "go", "test", "-vet=off", "./...")
	require.NoError(t, err, out)

	flag, problems, err := run("", "go", "tool", "farad-observe")
	require.NoError(t, err, problems)
	require.Contains(t, problems, "its TestMain does more than run the tests: "+filepath.Join(folder, "till", "till_test.go"))
	out, problems, err = run(strings.TrimSpace(flag), "go", "test", "-vet=off", "./...")
	require.Error(t, err)
	require.Contains(t, out, "shop.go:9: lock order inversion", problems)
	require.Contains(t, out, "ok  \texample.org/shop/till")

	flag, problems, err = run("", "go", "tool", "farad-observe", "-imports=false")
	require.NoError(t, err, problems)
	out, problems, err = run(strings.TrimSpace(flag), "go", "test", "-vet=off", "./...")
	require.NoError(t, err, out+problems)

	_, problems, err = run("", "go", "tool", "farad-observe", "./...")
	require.Error(t, err)
	require.Contains(t, problems, "it takes no packages")
}
