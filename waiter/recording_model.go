//go:build interleave

package waiter

// StartRecording does nothing: under the explorer futures always ask.
func StartRecording() {}

func mayRecord() bool { return true }
