//go:build interleave

package semaphore

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
)

// Two that set the queue at the same time agree on whether requests say their deadlines.
func TestModelQueueIsSetAsAWhole(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := New(1, WithQueue(Queue{}))
		x.Name("s", s)
		x.Go("a", func() { s.SetQueue(Queue{RefuseLate: true}) })
		x.Go("b", func() { s.SetQueue(Queue{}) })
		x.Wait()
		p := s.p.(*ordered)
		var by order.By
		p.ask(&by, waiting.After(time.Hour), false, nil)
		told := by.Deadline != 0
		x.Assert(told == p.order.Queue().RefuseLate, "deadlines are told: %t", told)
	})
}
