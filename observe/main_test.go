package observe

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Configure(Config{Logger: slog.New(slog.DiscardHandler)})
	hasLeakProfile = func() bool { return true } // so that texts are the same on every Go
	goleak.VerifyTestMain(m)
}
