//go:build interleave

package twa_test

import (
	"testing"

	"github.com/farad-go/farad/internal/mutextest"
	"github.com/farad-go/farad/twa"
)

// All sleepers are in one bucket here: internal/parking/lots_model.go.
func TestModelMutex(t *testing.T) {
	mutextest.RunModel[twa.Mutex, twa.LockFuture](t, mutextest.Known{Test: "context/cancel before unlock", Why: "a cancel between the look at the context and the tickets is not seen yet"})
}

func TestModelMutexHistories(t *testing.T) {
	mutextest.RunHistories[twa.Mutex, twa.LockFuture](t,
		mutextest.Known{Test: "cancel", Why: "a cancel between the look at the context and the tickets is not seen yet"},
		mutextest.Known{Test: "unlock too many", Why: "documented: while others lock, two may have held it when it panics"})
}
