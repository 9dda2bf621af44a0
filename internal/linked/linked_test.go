package linked

import (
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestFindsWhatMakesBubbles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { require.True(t, Bubbles()) })
}

// A function that does not exist is looked for everywhere, and the search ends.
func TestSearchesEndAtBothEndsOfTheText(t *testing.T) {
	names := map[string]bool{}
	note := func(name string) bool {
		names[name] = true
		return false
	}
	_, found := find(here()&^15, 16, note) // finds the small ones, too
	require.False(t, found)
	require.Contains(t, names, "runtime.schedule", "near the beginning")
	require.Contains(t, names, bubbles)
	require.Contains(t, names, "main.main", "near the end")

	_, found = find(1, functionStep, note)
	require.False(t, found, "there is no text around this address")
}

// Neither a program, nor one that imports package testing, nor a test binary can make bubbles
// without package testing/synctest.
func TestProgramsWithoutThePackageMakeNoBubbles(t *testing.T) {
	for _, program := range []string{"plain", "measures"} {
		require.Equal(require.GoOn(t), "false", goTool(t, "run", "./testdata/"+program), program)
	}
	goTool(t, "test", "-count=1", "./testdata/tested")
}

// Test binaries that can are recognised without symbols, and with functions in a random order.
func TestFindsWhatMakesBubblesHoweverItIsLinked(t *testing.T) {
	for _, flags := range []string{"-s -w", "-randlayout=18", "-randlayout=21"} {
		goTool(t, "test", "-count=1", "-ldflags="+flags, "./testdata/bubbles")
	}
}

// goTool runs the go command and returns what it has printed.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command(tool, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
	return strings.TrimSpace(string(out))
}
