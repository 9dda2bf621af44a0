//go:build unix && !aix && !solaris

package main

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestLinksAndSpecialFilesAreSkipped(t *testing.T) {
	files := map[string][]byte{"a/file": {1}, "b": {2}}
	dir := clitest.WriteTree(t, files)
	outside := clitest.WriteTree(t, map[string][]byte{"outside": {3}})
	require.NoError(t, os.Symlink(filepath.Join(outside, "outside"), filepath.Join(dir, "to a file")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "to a directory")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "a", "to a parent")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	t.Chdir(dir) // The address of a socket has to be short.
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer l.Close()

	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-progress", dir}, &stdout, &stderr))
	requireSameText(t, checksums(dir, files), stdout.String())
	require.Contains(t, stderr.String(), "6 skipped")
}

func TestDirectoryGivenAsALinkIsFollowed(t *testing.T) {
	files := map[string][]byte{"a/file": {1}, "b": {2}}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(clitest.WriteTree(t, files), link))
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{link}, &stdout, &stderr))
	requireSameText(t, checksums(link, files), stdout.String())
}

func TestFileReplacedAfterTheWalkIsReported(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"fifo":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("a", path) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := clitest.WriteTree(t, map[string][]byte{"a": {1}, "b": {2}, "c": {3}})
			tr := newTree(dir, 1, 1, 100)
			openFile := tr.open
			tr.open = func(name string) (fs.File, error) {
				if filepath.Base(name) == "b" {
					assert.NoError(t, os.Remove(name))
					assert.NoError(t, replace(name))
				}
				return openFile(name)
			}
			got := results(t, t.Context(), tr)
			require.NoError(t, got["a"].err)
			require.Error(t, got["b"].err)
			require.NoError(t, got["c"].err)
		})
	}
}

// startMain starts the program as a process of its own.
func startMain(
	t *testing.T, cred *syscall.Credential, args ...string,
) (cmd *exec.Cmd, stdout io.Reader, stderr *bytes.Buffer) {
	t.Helper()
	cmd = clitest.Command(t, args...)
	if cred != nil {
		// Another user may have no access to the directory of the executable.
		cmd.Path = "/proc/self/exe"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	if err := cmd.Start(); cred != nil && err != nil {
		t.Skip("cannot start a process as another user:", err)
	} else {
		require.NoError(t, err)
	}
	return cmd, stdout, stderr
}

func TestSignalsStopTheProgram(t *testing.T) {
	files := map[string][]byte{"a": nil} // Empty, as anything else might have to wait for the memory of the large one.
	dir := clitest.WriteTree(t, files)
	want := checksums(dir, files)
	// It has no content on the disk, and takes minutes to hash.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o600))
	if err := os.Truncate(filepath.Join(dir, "large"), 1<<38); err != nil {
		t.Skip("no sparse files here:", err)
	}
	for _, test := range []struct {
		signal  os.Signal
		code    int
		message string
	}{
		{os.Interrupt, 130, "stopped early: interrupted"},
		{syscall.SIGTERM, 143, "stopped early: terminated"},
	} {
		t.Run(test.signal.String(), func(t *testing.T) {
			cmd, stdout, stderr := startMain(t, nil, "-timeout=1m", dir) // A failing test leaves no process behind.
			in := bufio.NewReader(stdout)
			line, err := in.ReadString('\n')
			require.NoError(t, err, "%s", stderr)
			require.Equal(t, want, line)

			require.NoError(t, cmd.Process.Signal(test.signal))
			start := time.Now()
			rest, err := io.ReadAll(in)
			require.NoError(t, err)
			require.Empty(t, string(rest))
			_ = cmd.Wait()
			require.Less(t, time.Since(start), patience)
			require.Equal(t, test.code, cmd.ProcessState.ExitCode(), "%s", stderr)
			require.Contains(t, stderr.String(), "1 file, ")
			require.Contains(t, stderr.String(), test.message)
		})
	}
}

func TestTimeoutStopsInsideAFile(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": nil, "large": nil})
	if err := os.Truncate(filepath.Join(dir, "large"), 1<<38); err != nil {
		t.Skip("no sparse files here:", err)
	}
	var stdout bytes.Buffer
	// A slow machine may need more time before it is inside.
	for timeout := 100 * time.Millisecond; stdout.Len() == 0 && timeout < patience; timeout *= 2 {
		start := time.Now()
		code := run(t.Context(), []string{"-timeout=" + timeout.String(), dir}, &stdout, io.Discard)
		require.Equal(t, cli.ExitTimeout, code)
		require.Less(t, time.Since(start), timeout+patience)
	}
	require.Contains(t, stdout.String(), "/a\n")
	require.NotContains(t, stdout.String(), "large")
}

func TestUnreadableFilesAndDirectoriesAreReported(t *testing.T) {
	files := map[string][]byte{"a": {1}, "secret": {2}, "closed/inside": {3}, "z": {4}}
	dir := clitest.WriteTree(t, files)
	// Root may read everything, so the program then runs as another user, who needs a way in.
	var cred *syscall.Credential
	if os.Getuid() == 0 {
		if runtime.GOOS != "linux" {
			t.Skip("root may read everything")
		}
		cred = &syscall.Credential{Uid: 65534, Gid: 65534}
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	defer func() { assert.NoError(t, os.Chmod(filepath.Join(dir, "closed"), 0o700)) }()

	cmd, stdout, stderr := startMain(t, cred, dir)
	out, err := io.ReadAll(stdout)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, cli.ExitFailed, cmd.ProcessState.ExitCode(), "%s", stderr)
	delete(files, "secret")
	delete(files, "closed/inside")
	requireSameText(t, checksums(dir, files), string(out))
	require.Contains(t, stderr.String(), filepath.Join(dir, "secret")+": open: permission denied\n")
	require.Contains(t, stderr.String(), filepath.Join(dir, "closed")+": open: permission denied\n")
	require.Contains(t, stderr.String(), "2 files, 2 B ")
	require.Contains(t, stderr.String(), "\n2 failed")
}
