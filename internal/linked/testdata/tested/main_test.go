package main

import (
	"testing"

	"github.com/farad-go/farad/internal/linked"
)

func TestTestBinary(t *testing.T) {
	if !linked.TestBinary() {
		t.Error("not taken for a test binary")
	}
}
