package twobit

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/xsync"
)

// Word is Bits in a word of four bytes that has nothing else.
type Word struct{ state xsync.Uint32 }

// Get returns the state.
func (w *Word) Get() parking.State { return w.state.Load() }

// Set changes the state, if it is from.
func (w *Word) Set(from, to parking.State) bool { return w.state.CompareAndSwap(from, to) }

// TryLock locks w if it is free. Small enough to be inlined, with its caller.
func (w *Word) TryLock() bool { return w.state.CompareAndSwap(parking.Unlocked, parking.Locked) }

// TryUnlock unlocks w if it is locked and no goroutine has to be woken. Small enough to be inlined.
func (w *Word) TryUnlock() bool { return w.state.CompareAndSwap(parking.Locked, parking.Unlocked) }

// Key returns the key of w.
func (w *Word) Key() parking.Key { return parking.Key{Object: w, Hash: xsync.Address(w)} }
