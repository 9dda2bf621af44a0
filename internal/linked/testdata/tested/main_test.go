package main

import (
	"testing"

	"github.com/farad-go/farad/internal/linked"
)

func TestBubbles(t *testing.T) {
	if linked.Bubbles() {
		t.Error("found what is not there")
	}
}
