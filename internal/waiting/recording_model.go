//go:build interleave

package waiting

// StartRecording does nothing: under the explorer futures always ask.
func StartRecording() {}

func mayRecord() bool { return true }
