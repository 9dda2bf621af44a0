package capacitor

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m) }
