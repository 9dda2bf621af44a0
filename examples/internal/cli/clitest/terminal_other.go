//go:build !linux

package clitest

import (
	"os"
	"testing"
)

// Terminal skips the test.
func Terminal(t testing.TB, _ int) (terminal *os.File, drawn func() string) {
	t.Helper()
	t.Skip("only on Linux the tests know how to make a terminal")
	return nil, nil
}
