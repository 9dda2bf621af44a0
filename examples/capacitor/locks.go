package main

import (
	"sync"

	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
)

// A kind is a lock that can take part.
type kind struct {
	name   string
	create func() sync.Locker
	check  func(r result) error // what else must hold afterwards; nil: nothing
}

// kinds are all of them.
var kinds = []kind{
	{name: "sync.Mutex", create: func() sync.Locker { return new(sync.Mutex) }},
	{name: "mutex.Mutex", create: func() sync.Locker { return new(mutex.Mutex) }},
	{name: "farad/sync.Mutex", create: func() sync.Locker { return new(farad.Mutex) }},
}
