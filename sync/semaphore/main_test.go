package semaphore_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/semtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var requireIdle, queued = semtest.RequireIdle, semtest.Queued
