//go:build interleave

package mutex_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/sync/mutex"
)

// The façade under the explorer; the engine has scenarios of its own.
func TestModelMutex(t *testing.T) { mutextest.RunModel[mutex.Mutex](t) }

func TestModelMutexHistories(t *testing.T) { mutextest.RunHistories[mutex.Mutex](t) }
