package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// passes explores, requires that nothing fails and that the search comes to its end, and returns
// what it took.
func passes(t *testing.T, o Options, body func(x *Run)) Result {
	t.Helper()
	r := Explore(o, body)
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	require.True(t, r.Exhausted || o.Mode > Plain, "the search ends")
	return r
}

// fails explores, and requires a failure of this kind.
func fails(t *testing.T, kind FailureKind, o Options, body func(x *Run)) *Failure {
	t.Helper()
	f := Explore(o, body).Failure
	require.NotNil(t, f, "%v must be found", kind)
	require.Equal(t, kind, f.Kind, "%v", f)
	return f
}

// alone runs f as the only thread.
func alone(f func()) func(x *Run) {
	return func(x *Run) {
		x.Go("a", f)
		x.Wait()
	}
}

var exhaustive = []Options{{}, {Mode: Bounded, Bound: Unbounded}, {Mode: Plain, Bound: Unbounded}}

// everyMode runs f with each exhaustive search.
func everyMode(t *testing.T, f func(t *testing.T, o Options)) {
	t.Helper()
	for _, o := range exhaustive {
		t.Run(o.Mode.String(), func(t *testing.T) { f(t, o) })
	}
}

// outcomes returns how the executions of body ended: what it passes to tell.
func outcomes(t *testing.T, o Options, body func(x *Run, tell func(string))) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	passes(t, o, func(x *Run) { body(x, func(s string) { seen[s] = true }) })
	return seen
}

// pass goes through a lock.
func pass(mu *Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

func set(all ...string) map[string]bool {
	m := map[string]bool{}
	for _, s := range all {
		m[s] = true
	}
	return m
}
