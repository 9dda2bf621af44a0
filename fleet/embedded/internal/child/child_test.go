package child_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
)

type greeting struct {
	Name string
	N    int
}

func TestMain(m *testing.M) {
	child.Main("echo", func(_ context.Context, g greeting, say func(any) error) error {
		for g.N > 0 {
			if err := say(g); err != nil {
				return err
			}
			g.N--
		}
		return nil
	})
	child.Main("fail", func(context.Context, greeting, func(any) error) error {
		return errors.New("as told")
	})
	child.Main("count", func(ctx context.Context, _ greeting, say func(any) error) error {
		for n := 1; ctx.Err() == nil; n++ {
			if err := say(n); err != nil {
				return err
			}
		}
		return say(-1)
	})
	child.Main("deaf", func(_ context.Context, _ greeting, say func(any) error) error {
		_ = say(1)
		select {}
	})
	// A parent that starts a grandchild, tells its number, and then does nothing.
	child.Main("parent", func(ctx context.Context, _ greeting, say func(any) error) error {
		p, err := child.Start("count", greeting{})
		if err != nil {
			return err
		}
		var n int
		if err := p.Next(&n); err != nil {
			return err
		}
		if err := p.Pause(); err != nil {
			return err
		}
		if err := say(p.Pid()); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, role string, g greeting) *child.Process {
	t.Helper()
	p, err := child.Start(role, g)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Kill()) })
	return p
}

func TestLinesArriveInOrderAlsoAfterTheEnd(t *testing.T) {
	p := start(t, "echo", greeting{"x", 3})
	require.NoError(t, p.Wait())
	for n := 3; n > 0; n-- {
		var g greeting
		require.NoError(t, p.Next(&g))
		require.Equal(t, greeting{"x", n}, g)
	}
	require.ErrorIs(t, p.Next(nil), io.EOF)
	require.ErrorIs(t, p.Next(nil), io.EOF)
}

func TestFailureIsTold(t *testing.T) {
	require.Error(t, start(t, "fail", greeting{}).Wait())
}

func TestUnknownRoleIsNotStarted(t *testing.T) {
	_, err := child.Start("nobody", greeting{})
	require.ErrorContains(t, err, "nobody")
}

func TestStopEndsTheContext(t *testing.T) {
	p := start(t, "count", greeting{})
	var n int
	require.NoError(t, p.Next(&n))
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(time.Minute) }()
	for n >= 0 {
		require.NoError(t, p.Next(&n))
	}
	require.NoError(t, <-stopped)
	require.NoError(t, p.Stop(0))
}

func TestStopKillsARoleThatDoesNotReturn(t *testing.T) {
	p := start(t, "deaf", greeting{})
	var n int
	require.NoError(t, p.Next(&n))
	require.Error(t, p.Stop(10*time.Millisecond))
	require.ErrorIs(t, p.Next(&n), io.EOF)
}
