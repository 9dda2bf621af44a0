package innerlocks

import "sync"

// A lock is what all of them are.
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

// newest returns the node of who came last, nil or held if nobody waits that can be told from the
// word. MCS: or the holder's.
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
