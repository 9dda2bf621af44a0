package observe

import (
	"log/slog"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
)

func TestMain(m *testing.M) {
	Configure(Config{Logger: slog.New(slog.DiscardHandler)})
	hasLeakProfile = func() bool { return true } // so that texts are the same on every Go
	locktest.Main(m)
}
