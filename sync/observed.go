package sync

// An observed lock has a bit in its word that keeps everybody off the fast paths, and nothing else:
// all slow paths ignore it and keep it. So a lock may begin to be observed at any time, and cease.

func (m *Mutex) setWatched(on bool) {
	if on {
		m.word.Or(watched)
	} else {
		m.word.And(^watched)
	}
}

func (m *Mutex) isWatched() bool { return m.word.Load()&watched != 0 }

func (l *RWMutex) setWatched(on bool) {
	if on {
		l.word.Or(rwWatched)
	} else {
		l.word.And(^rwWatched)
	}
}

func (l *RWMutex) isWatched() bool { return l.word.Load()&rwWatched != 0 }
