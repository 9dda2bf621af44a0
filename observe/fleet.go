package observe

import "github.com/farad-go/farad/observe/hook"

// A Fleet is what this process knows of a lock that it shares with others, by package fleet.
type Fleet = hook.Fleet

// A Block is the permits that a process has of such a lock, or waits for.
type Block = hook.Block
