package innerlocks

import "sync"

// A lock is the interface of all locks of this package.
type lock interface {
	sync.Locker
	TryLock() bool
}

var kinds = map[string]func() lock{
	"tts":           func() lock { return new(TTS) },
	"lifo":          func() lock { return new(LIFO) },
	"mcs":           func() lock { return new(MCS) },
	"reciprocating": func() lock { return new(Reciprocating) },
}

// newest returns the node of the newest arrival: nil or held if the word shows no waiter. With MCS
// it may be the holder's.
func newest(l lock) *node {
	switch l := l.(type) {
	case *LIFO:
		return l.top.Load()
	case *MCS:
		return l.last.Load()
	case *Reciprocating:
		return l.arrivals.Load()
	}
	return nil
}
