package observe

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func logged(t *testing.T, what any) string {
	t.Helper()
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})).Info("seen", "x", what)
	return b.String()
}

func TestLogLinesNameWhatMatters(t *testing.T) {
	s := shop()
	golden(t, "slog.txt", logged(t, s)+logged(t, s.Locks[3])+logged(t, s.Deadlocks[0])+logged(t,
		s.Suspicions[0])+logged(t, s.Leaks[0])+
		logged(t, &Snapshot{}))
	for _, what := range []any{
		hostile(), hostile().Locks[0], hostile().Deadlocks[0], hostile().Suspicions[0],
		hostile().Leaks[0],
	} {
		require.NotContains(t, logged(t, what), "\x1b")
	}
}
