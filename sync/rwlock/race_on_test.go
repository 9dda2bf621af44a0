//go:build race

package rwlock_test

const raceEnabled = true
