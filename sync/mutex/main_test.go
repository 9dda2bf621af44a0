package mutex_test

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/mutextest"
)

func TestMain(m *testing.M) { locktest.Main(m) }

var bg = context.Background()

var requireFree = mutextest.RequireFree
