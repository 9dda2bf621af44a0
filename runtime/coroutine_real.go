//go:build !interleave

package rt

func makeCoroutine() *coroutine { return newCoroutine() }

// reusable reports whether a coroutine may serve another task.
func reusable() bool { return true }
