//go:build interleave

package rt

import (
	"sync/atomic"

	"github.com/farad-go/farad/internal/xsync"
)

// coroutineThread starts a thread of a scenario; nil outside explorations. The switch of a
// coroutine is Go's, and the explorer cannot stop in one. So a coroutine is a thread there, that
// runs only while its worker waits for it.
var coroutineThread func(body func())

func makeCoroutine() *coroutine {
	if coroutineThread == nil {
		return newCoroutine()
	}
	c := new(coroutine)
	in, out := xsync.NewSignal(1), xsync.NewSignal(1)
	var turns atomic.Uint32 // orders what a worker has written with the recovery of a body that is unwound
	c.next = func() (turn, bool) {
		turns.Add(1)
		in.Send()
		out.Receive()
		return turn{}, true
	}
	unwound := false // while it waited: nothing orders it with its worker then
	c.yield = func(turn) bool {
		out.Send()
		unwound = true
		defer turns.Load()
		in.Receive()
		unwound = false
		return true
	}
	c.stop = func() {}
	coroutineThread(func() {
		defer func() { c.seat.leave() }()
		in.Receive()
		c.body.run() // which recovers from everything
		if !unwound {
			c.body = nil
			c.stand()
			out.Send()
		}
	})
	return c
}

// reusable reports whether a coroutine may serve another task. A thread serves one.
func reusable() bool { return coroutineThread == nil }
