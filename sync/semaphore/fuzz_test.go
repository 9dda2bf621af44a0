package semaphore_test

import (
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// oracle is the semaphore's specification as a sequential program: a number and a list. With
// a capacitor there are two numbers more.
type oracle struct {
	size, avail int64
	closed      bool
	queue       []*request

	members, express int // of a platoon, 0: there are none; of the express lane
	places           int // what is left of the lane
}

type request struct {
	id, n  int
	future *waiter.Future
	ended  bool
	err    error
}

func (o *oracle) end(r *request, err error) { r.ended, r.err = true, err }

func (o *oracle) try(n int) bool {
	if o.closed || n > 0 && (len(o.queue) > 0 && o.places == 0 || int64(n) > o.avail) {
		return false
	}
	if n > 0 && len(o.queue) > 0 {
		o.places--
	}
	o.avail -= int64(n)
	return true
}

func (o *oracle) start(r *request) {
	switch {
	case o.closed:
		o.end(r, semaphore.ErrClosed)
	case int64(r.n) > o.size:
		o.end(r, semaphore.ErrTooLarge)
	case o.try(r.n):
		o.end(r, nil)
	default:
		if len(o.queue) == 0 {
			o.places = o.express
		}
		o.queue = append(o.queue, r)
	}
}

func (o *oracle) serve() {
	for len(o.queue) > 0 && o.avail >= int64(o.queue[0].n) {
		o.avail -= int64(o.queue[0].n)
		o.end(o.queue[0], nil)
		o.queue = o.queue[1:]
		o.places = o.express
	}
}

func (o *oracle) release(n int) (panics bool) {
	if n < 0 || o.avail+int64(n) > o.size {
		return true
	}
	o.avail += int64(n)
	o.serve()
	return false
}

func (o *oracle) remove(r *request) {
	for i, q := range o.queue {
		if q == r {
			o.queue = append(o.queue[:i:i], o.queue[i+1:]...)
			break
		}
	}
	o.serve()
}

func (o *oracle) resize(n int64) {
	o.avail += n - o.size
	o.size = n
	var rest []*request
	for _, r := range o.queue {
		if int64(r.n) > n {
			o.end(r, semaphore.ErrTooLarge)
		} else {
			rest = append(rest, r)
		}
	}
	o.queue = rest
	o.serve()
}

func (o *oracle) close() {
	o.closed = true
	for _, r := range o.queue {
		o.end(r, semaphore.ErrClosed)
	}
	o.queue = nil
}

// FuzzAgainstOracle runs sequences of operations on the semaphore and on its specification, and
// compares what can be seen after each.
func FuzzAgainstOracle(f *testing.F) {
	f.Add(byte(1), []byte{0x10, 0x10, 0x20, 0x30, 0x20})
	f.Add(byte(3), []byte{0x13, 0x12, 0x11, 0x40, 0x21, 0x22, 0x51, 0x21, 0x54})
	f.Add(byte(2), []byte{0x11, 0x11, 0x11, 0x50, 0x52, 0x21, 0x60, 0x21})
	f.Add(byte(4), []byte{0x14, 0x11, 0x13, 0x11, 0x53, 0x22, 0x30, 0x31, 0x24, 0x70, 0x71})
	f.Fuzz(func(t *testing.T, size byte, ops []byte) {
		againstOracle(t, &oracle{}, size, ops)
	})
}

// FuzzCapacitorAgainstOracle is the same with a capacitor. Only its futures are sequential: they
// pass the gate and depart in one step.
func FuzzCapacitorAgainstOracle(f *testing.F) {
	f.Add(byte(1), byte(0), byte(1), []byte{0x01, 0x11, 0x21, 0x01, 0x21, 0x01, 0x21})
	f.Add(byte(4), byte(1), byte(2), []byte{0x03, 0x12, 0x13, 0x01, 0x14, 0x21, 0x11, 0x22, 0x01, 0x23, 0x11, 0x24})
	f.Add(byte(5), byte(2), byte(1), []byte{0x04, 0x15, 0x14, 0x01, 0x13, 0x30, 0x57, 0x01, 0x24, 0x52, 0x60, 0x22})
	f.Fuzz(func(t *testing.T, size, members, express byte, ops []byte) {
		againstOracle(t, &oracle{members: 1 + int(members%3), express: int(express % 4)}, size, ops)
	})
}

// againstOracle compares a semaphore with its specification.
func againstOracle(t *testing.T, o *oracle, size byte, ops []byte) {
	t.Helper()
	if len(ops) > 200 {
		ops = ops[:200]
	}
	o.size, o.avail = int64(size%8), int64(size%8)
	s := semaphore.New(o.size)
	if o.members > 0 {
		s = semaphore.New(o.size, semaphore.WithCapacitor(o.members, o.express))
	}
	var live []*request
	pick := func(k int) *request {
		if len(live) == 0 {
			return nil
		}
		return live[k%len(live)]
	}
	release := func(n int, what string) {
		if o.release(n) { // permits have no names: another goroutine may have released these
			require.Panics(t, func() { s.Release(int64(n)) }, what)
		} else {
			s.Release(int64(n))
		}
	}
	for i, op := range ops {
		k := int(op & 15)
		what := fmt.Sprintf("step %d, op %#x", i, op)
		switch op >> 4 {
		case 0: // try
			require.Equal(t, o.try(k%5), s.TryAcquire(int64(k%5)), what)
		case 1: // request by poll, or by Done
			r := &request{id: i, n: k % 8, future: new(waiter.Future)}
			s.Bind(r.future, int64(r.n))
			o.start(r)
			if k >= 8 {
				require.Equal(t, r.ended, locktest.IsClosed(r.future.Done()), what)
			} else {
				require.Equal(t, r.ended, r.future.Poll(nil), what)
			}
			live = append(live, r)
		case 2: // release
			release(k, what)
		case 3: // cancel: gives back what was not taken
			if r := pick(k); r != nil {
				if !r.ended {
					o.remove(r)
				} else if r.err == nil && r.future.Take() == nil {
					release(r.n, what)
				}
				r.future.Release()
				live = remove(live, r)
			}
		case 4: // poll again
			if r := pick(k); r != nil {
				require.Equal(t, r.ended, r.future.Poll(waiter.WakerFunc(func() {})), what)
			}
		case 5: // resize
			o.resize(int64(k % 8))
			s.Resize(int64(k % 8))
		case 6: // close, seldom
			if k == 0 {
				o.close()
				s.Close()
			}
		}
		require.Equal(t, o.size, s.Size(), what)
		require.Equal(t, o.avail, s.Available(), what)
		require.EqualValues(t, len(o.queue), s.Waiting(), what)
		for _, r := range live {
			if !r.ended {
				require.ErrorIs(t, r.future.Err(), waiter.ErrPending, what)
			} else {
				require.ErrorIs(t, r.future.Err(), r.err, what)
			}
		}
	}
}

func remove(rs []*request, r *request) []*request {
	for i := range rs {
		if rs[i] == r {
			return append(rs[:i:i], rs[i+1:]...)
		}
	}
	return rs
}
