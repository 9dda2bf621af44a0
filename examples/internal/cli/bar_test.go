package cli_test

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

// screen is where a bar is drawn.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestBarFollowsTheProgressAndLeavesNothing(t *testing.T) {
	var s screen
	var done atomic.Int64
	bar := cli.StartBar(&s, func() cli.Progress {
		return cli.Progress{Done: done.Load(), Total: 200, Text: []string{"first", "second"}}
	})
	see := func(text string) {
		t.Helper()
		require.Eventually(
			t,
			func() bool { return strings.Contains(s.String(), text) },
			20*time.Second,
			time.Millisecond,
			"%q",
			text,
		)
	}
	see("0% |                    |  first, second")
	done.Store(101)
	see(" 50% |██████████          |  first, second")
	done.Store(1000) // more than there should be
	see(" 99% |███████████████████")
	bar.Above(func() { _, _ = s.Write([]byte("a line\n")) })
	require.Regexp(t, `\r *\ra line\n`, s.String(), "the bar was away")
	bar.Stop()
	bar.Stop()
	last := s.String()[strings.LastIndexByte(strings.TrimRight(s.String(), "\r"), '\r')+1:]
	require.Empty(t, strings.TrimSpace(last), "the bar is gone")

	var none *cli.Bar
	called := false
	none.Above(func() { called = true })
	none.Stop()
	require.True(t, called)
}

func TestBarFitsItsTerminal(t *testing.T) {
	for columns, want := range map[int]string{ // text is left out before the bar is too short
		80: "|                    |  first, and a long second text ",
		50: "|          |  first, and a long second text ",
		40: "|                    |  first ",
		20: "|    |  first ",
	} {
		terminal, drawn := clitest.Terminal(t, columns)
		bar := cli.StartBar(terminal, func() cli.Progress {
			return cli.Progress{Total: 10, Text: []string{"first", "and a long second text"}}
		})
		bar.Stop()
		out := drawn()
		require.Contains(t, out, want)
		clitest.RequireWidth(t, out, columns)
	}
}
