//go:build interleave

package twa_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/twa"
)

// All sleepers are in one bucket here: internal/parking/lots_model.go.
func TestModelMutex(t *testing.T) {
	mutextest.RunModel[twa.Mutex](t)
}

func TestModelMutexHistories(t *testing.T) {
	mutextest.RunHistories[twa.Mutex](
		t,
		mutextest.Known{
			Test: "unlock too many",
			Why:  "documented: while others lock, two may have held it when it panics",
		},
	)
}
