package main

import (
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/internal/linked"
)

func TestBubbles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !linked.Bubbles() {
			t.Error("not found")
		}
	})
}
