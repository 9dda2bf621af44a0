//go:build !race

package antspool_test

const raceEnabled = false
