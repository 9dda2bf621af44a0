//go:build !race && !interleave

package rwlock_test

const raceEnabled = false
