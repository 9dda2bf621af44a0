//go:build farad_observe

package observetest

import "testing"

// Packages sync and sync/semaphore import this package for the sake of this function.
func init() {
	if testing.Testing() {
		_ = process.start(true)
	}
}
