package main

import (
	"sync"

	"github.com/farad-go/farad/sync/capacitor"
	"github.com/farad-go/farad/sync/mutex"
)

// A kind is a lock that can take part.
type kind struct {
	name   string
	create func() sync.Locker
}

// kinds are all of them.
var kinds = []kind{
	{"sync.Mutex", func() sync.Locker { return new(sync.Mutex) }},
	{"mutex.Mutex", func() sync.Locker { return new(mutex.Mutex) }},
	{"capacitor.Mutex", observed},
}

func observed() sync.Locker {
	m := new(capacitor.Mutex)
	m.CollectStats()
	return m
}

// An observedLock tells how far it has overtaken.
type observedLock interface{ Stats() capacitor.Stats }
