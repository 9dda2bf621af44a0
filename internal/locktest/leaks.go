package locktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests, and fails if goroutines are left then, apart from those that opts ignore. Unlike
// goleak.VerifyTestMain it is not content with half a second, for which a machine can stall what is about to end.
func Main(m *testing.M, opts ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := leaks(Patience, opts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// NoLeaks is the same for one test.
func NoLeaks(t testing.TB, opts ...goleak.Option) {
	t.Helper()
	if err := leaks(Patience, opts); err != nil {
		t.Fatalf("%v", err)
	}
}

// leaks returns what is left after the given time, or nil.
func leaks(patience time.Duration, opts []goleak.Option) (err error) {
	end := time.Now().Add(patience)
	for {
		late := time.Now().After(end)
		if err = goleak.Find(opts...); err == nil || late {
			return err
		}
	}
}
