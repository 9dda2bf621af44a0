package waiter

import "github.com/farad-go/farad/internal/xsync"

// UseChannels has the goroutines that begin to wait from now on sleep in channels, or undoes that.
// It returns what was set before. Any goroutine may call it at any time. It concerns the waits of
// all of this module, except for those of executors that exist.
//
// Where the build allows it, a goroutine waits by the runtime's own gopark, which costs less. The
// block profile and the profile of leaked goroutines do not know such waits: stacks show them, with
// the reason "semacquire". A program that needs those profiles calls UseChannels, or runs with the
// environment variable FARAD_SLEEP=channel. The build tag farad_portable leaves gopark out. What
// waits without a limit for a lock that is observed with its holders is in a channel in any case.
func UseChannels(on bool) (before bool) { return xsync.UseChannels(on) }
