//go:build !interleave

package waiting

import "github.com/farad-go/farad/internal/xsync"

// recording says that a lock of the process is observed, or was. Otherwise a future need not ask
// its request for a record, which costs as much as half an exchange.
var recording xsync.Uint32

// StartRecording is called before the first lock is observed, and stays.
func StartRecording() { recording.Store(1) }

func mayRecord() bool { return xsync.Glance32(&recording) != 0 }
