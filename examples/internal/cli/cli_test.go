package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// main is a program that a first signal does not end: it says why its context ended, and hangs.
func main() {
	ctx := cli.WithSignals(context.Background())
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	time.Sleep(time.Minute)
}

func TestFirstSignalEndsTheContextAndTheSecondTheProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such signals")
	}
	for signal, cause := range map[os.Signal]error{
		os.Interrupt:    cli.ErrInterrupted,
		syscall.SIGTERM: cli.ErrTerminated,
	} {
		t.Run(signal.String(), func(t *testing.T) {
			if ossignal.Ignored(signal) {
				t.Skip("a program that was started in the background ignores it, rightly")
			}
			cmd := clitest.Command(t)
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(stdout)
			require.True(t, lines.Scan())
			require.Equal(t, "ready", lines.Text())

			require.NoError(t, cmd.Process.Signal(signal))
			require.True(t, lines.Scan())
			require.Equal(t, cause.Error(), lines.Text())

			require.NoError(t, cmd.Process.Signal(signal))
			exit, ok := errors.AsType[*exec.ExitError](cmd.Wait())
			require.True(t, ok)
			require.Equal(t, -1, exit.ExitCode(), "it ended by itself")
		})
	}
}

func TestExitCodesAreTheDocumentedOnes(t *testing.T) {
	require.Equal(t, 0, cli.ExitCode(nil, false))
	require.Equal(t, 1, cli.ExitCode(nil, true))
	require.Equal(t, 2, cli.ExitUsage)
	for _, failures := range []bool{false, true} { // That it was stopped is the more important news.
		require.Equal(t, 124, cli.ExitCode(cli.ErrTimeout, failures))
		require.Equal(t, 130, cli.ExitCode(cli.ErrInterrupted, failures))
		require.Equal(t, 130, cli.ExitCode(context.Canceled, failures))
		require.Equal(t, 143, cli.ExitCode(cli.ErrTerminated, failures))
	}
}

func TestTimeoutIsTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := cli.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-ctx.Done()
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, cli.ErrTimeout, context.Cause(ctx))

		ctx, cancel = cli.WithTimeout(t.Context(), 0)
		cancel()
		require.NoError(t, ctx.Err(), "0 means never")
	})
}

func TestOnlyATerminalIsATerminal(t *testing.T) {
	require.False(t, cli.IsTerminal(new(bytes.Buffer)))
	file, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer file.Close()
	require.False(t, cli.IsTerminal(file))
	if terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil { // a new one
		defer terminal.Close()
		require.True(t, cli.IsTerminal(terminal))
	}
}
