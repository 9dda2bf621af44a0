//go:build !interleave || simulate

package sync

// Express is how many places the express lane of a [Mutex] has, if not chosen otherwise, and that
// of an [RWMutex].
const Express = 256
