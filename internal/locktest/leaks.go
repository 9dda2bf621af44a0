package locktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests, and fails if goroutines are left then, apart from those that opts ignore. It
// is goleak.VerifyTestMain for packages whose last test may end before another's goroutines do,
// those of ants or of package observe: a machine can stall one for longer than the half second that
// goleak waits.
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
