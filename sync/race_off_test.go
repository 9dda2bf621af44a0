//go:build !race && !interleave

package sync_test

const raceEnabled = false
