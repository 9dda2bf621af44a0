//go:build interleave

package rt

import "github.com/farad-go/farad/internal/xsync"

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
	c.next = func() (turn, bool) {
		in.Send()
		out.Receive()
		return turn{}, true
	}
	unwound := false // while it waited: nothing orders it with its worker then
	c.yield = func(turn) bool {
		out.Send()
		unwound = true
		in.Receive()
		unwound = false
		return true
	}
	c.stop = func() {}
	coroutineThread(func() {
		in.Receive()
		c.body.run() // which recovers from everything
		if !unwound {
			c.body = nil
			out.Send()
		}
	})
	return c
}

// reusable reports whether a coroutine may serve another task. A thread serves one.
func reusable() bool { return coroutineThread == nil }
