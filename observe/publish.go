package observe

import "encoding/json"

// A Var publishes the numbers of the observed locks with package expvar:
//
//	expvar.Publish("farad", observe.Var{})
//
// Its value is a [Snapshot] in JSON, without holders and waiters. This package does not import
// expvar, which would serve it at once, with the command line, on http.DefaultServeMux.
type Var struct{}

// String returns the snapshot of now in JSON.
func (Var) String() string {
	text, err := json.Marshal(Read().numbers().filled())
	if err != nil { // there is nothing in it that cannot be written
		return "null"
	}
	return string(text)
}

// numbers returns a bounded snapshot without holders, waiters and stacks of locks.
func (s *Snapshot) numbers() *Snapshot {
	r := *s
	r.Locks = make([]Lock, 0, len(s.Locks))
	for _, l := range s.Locks {
		l.Holders, l.Waiters, l.Sites = nil, nil, nil
		r.Locks = append(r.Locks, l)
	}
	return r.bounded(0, maxReadLocks, maxReadRecords)
}
