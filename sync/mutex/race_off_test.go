//go:build !race && !interleave

package mutex_test

const raceEnabled = false
