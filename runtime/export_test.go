package runtime

// What tests of the scheduler's bounds need to know.
const (
	InjectionEvery = injectionEvery
	MonitorBound   = 2 * monitorEvery
)
