//go:build !interleave || simulate

package capacitor

// Express is how many places the express lane of a [Mutex] has, if not chosen otherwise, and that
// of an [RWLock].
const Express = 256
