//go:build !race

package rwlock_test

const raceEnabled = false
