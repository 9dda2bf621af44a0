package locktest

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestLeaksAreFound(t *testing.T) {
	before := []goleak.Option{goleak.IgnoreCurrent()}
	end := make(chan struct{})
	go func() { <-end }()
	if err := leaks(0, before); err == nil || !strings.Contains(err.Error(), "TestLeaksAreFound") {
		t.Errorf("not found: %v", err)
	}
	close(end)
	if err := leaks(Patience, before); err != nil {
		t.Error(err)
	}
}

// What ends after all is no leak, even if goleak alone would have had enough.
func TestLateIsNoLeak(t *testing.T) {
	before := []goleak.Option{goleak.IgnoreCurrent()}
	end := make(chan struct{})
	go func() { <-end }()
	if goleak.Find(before...) == nil {
		t.Error("goleak does not find it")
	}
	time.AfterFunc(time.Second, func() { close(end) }) // goleak waits for less than half of that
	if err := leaks(Patience, before); err != nil {
		t.Error(err)
	}
}
