// Package tagged imports the locks, and nothing that observes them.
package tagged

import (
	"os"
	"testing"
	"time"

	"github.com/farad-go/farad/sync"
)

var a, b sync.Mutex

func both(x, y *sync.Mutex) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.Lock()
		defer x.Unlock()
		y.Lock()
		defer y.Unlock()
	}()
	<-done
}

func TestInversion(t *testing.T) {
	both(&a, &b)
	both(&b, &a)
	if os.Getenv("FARAD_OBSERVETEST_CASE") != "" {
		time.Sleep(time.Minute) // The report ends the program before.
	}
}

func TestCorrect(t *testing.T) {
	both(&a, &b)
	both(&a, &b)
}
