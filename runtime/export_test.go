package rt

// What tests of the scheduler's bounds need to know.
const (
	InjectionEvery = injectionEvery
	MonitorBound   = 2 * monitorEvery
)

// Joiners returns how many wait for the end of a task.
func Joiners(ex *Executor) (n int) {
	for i := range ex.shards {
		s := &ex.shards[i]
		s.mu.Lock()
		for t := s.oldest; t != nil; t = t.newer {
			if t.more != nil {
				n += t.more.joiners.Len()
			}
		}
		s.mu.Unlock()
	}
	return n
}
