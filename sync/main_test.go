//go:build !interleave

package sync

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	fatal = func(m misuse) { panic(m.words) } // which the tests of all locks expect
	setCanBubble(false)                       // but in the tests of that
	goleak.VerifyTestMain(m)
}
