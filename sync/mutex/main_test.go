package mutex_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/mutextest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var requireFree = mutextest.RequireFree
