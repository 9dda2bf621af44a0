//go:build !interleave

package sync_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// A program with a lock does not carry what only tests need: package testing and package flag are
// 300 kB.
func TestLocksLinkNothingOfTests(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	for _, packages := range []string{"waiter", "sync/...", "twa", "runtime"} {
		out, err := exec.Command(tool, "list", "-deps", module+"/"+packages).CombinedOutput()
		require.NoError(t, err, "%s", out)
		linked := strings.Fields(string(out))
		require.Contains(t, linked, module+"/waiter")
		for _, unwanted := range []string{"testing", "flag"} {
			require.False(require.GoOn(t), slices.Contains(linked, unwanted), "%s: %s", unwanted, packages)
		}
	}
}
