//go:build !race && !interleave

package semaphore_test

const raceEnabled = false
