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

// Seats returns the number of goroutines that are known to run tasks.
func Seats() (n int) {
	seats.Range(func(any, any) bool { n++; return true })
	return n
}

// MaxKeptPanics is how many panics are kept.
const MaxKeptPanics = maxKeptPanics

// Observing reports whether an executor is observed.
func Observing(ex *Executor) bool { return ex.observing.Load() }

// TaskOn returns the ID of the task that a goroutine runs.
func TaskOn(goroutine uint64) uint64 { return taskOn(goroutine) }

// Cause returns why a Shutdown has aborted tasks.
func (ex *Executor) Cause() error { return ex.cause.Load() }
