package observe

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Configure(Config{Logger: slog.New(slog.DiscardHandler)})
	goleak.VerifyTestMain(m)
}
