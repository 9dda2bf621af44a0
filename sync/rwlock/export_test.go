package rwlock

// MayHide reports whether l is biased now.
func MayHide(l *RWLock) bool { return l.e.MayHide() }
