package child_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// state returns the letter by which Linux tells what a process does: T if it is stopped, Z if it
// has ended and its parent has not yet asked, and nothing if it does not exist.
func state(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program stands in brackets
	return rest[:1]
}

func TestPausedProcessDoesNothing(t *testing.T) {
	p := start(t, "count", greeting{})
	var n int
	require.NoError(t, p.Next(&n))
	require.NoError(t, p.Pause())
	require.Equal(t, "T", state(p.Pid()))
	require.NoError(t, p.Pause()) // again
	require.NoError(t, p.Resume())
	for range 20_000 { // more than pipe and reader hold
		require.NoError(t, p.Next(&n))
	}
	require.NoError(t, p.Pause())
	require.NoError(t, p.Kill())
	require.ErrorIs(t, p.Pause(), os.ErrProcessDone)
	require.ErrorIs(t, p.Resume(), os.ErrProcessDone)
}

func TestStopKillsAPausedProcess(t *testing.T) {
	p := start(t, "count", greeting{})
	var n int
	require.NoError(t, p.Next(&n))
	require.NoError(t, p.Pause())
	require.Error(t, p.Stop(10*time.Millisecond))
	require.NoError(t, p.Kill())
}

func TestPausedGrandchildDiesWithItsParent(t *testing.T) {
	p := start(t, "parent", greeting{})
	var pid int
	require.NoError(t, p.Next(&pid))
	require.Equal(t, "T", state(pid))
	require.NoError(t, p.Kill())
	require.Eventually(t, func() bool { s := state(pid); return s == "" || s == "Z" }, 30*time.Second, time.Millisecond)
}
