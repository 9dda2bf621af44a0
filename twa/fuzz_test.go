package twa

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// An oracle is what a Semaphore is as a sequential program: what is free, and a line. Numbers it
// has none.
type oracle struct {
	size, free int64
	line       []*place
	closed     bool
}

// A place in the line is a request's, or what a Resize is to take away.
type place struct {
	n     int64
	f     *waiter.Future // nil: a debt
	ended bool
	err   error
}

func (o *oracle) serve() {
	for len(o.line) > 0 && o.free >= o.line[0].n {
		o.free -= o.line[0].n
		o.line[0].ended = true
		o.line = o.line[1:]
	}
}

func (o *oracle) start(p *place) {
	switch {
	case o.closed:
		p.ended, p.err = true, ErrClosed
	case p.n > o.size:
		p.ended, p.err = true, ErrTooLarge
	default:
		o.line = append(o.line, p)
		o.serve()
	}
}

func (o *oracle) try(n int64) bool {
	if o.closed || len(o.line) > 0 || o.free < n {
		return false
	}
	o.free -= n
	return true
}

func (o *oracle) release(n int64) {
	o.free += n
	o.serve()
}

// remove takes the requests that of reports out of the line.
func (o *oracle) remove(of func(p *place) bool) {
	var rest []*place
	for _, p := range o.line {
		if !of(p) {
			rest = append(rest, p)
		}
	}
	o.line = rest
	o.serve()
}

func (o *oracle) resize(size int64) {
	d := size - o.size
	o.size = size
	if d < 0 {
		o.line = append(o.line, &place{n: -d})
	}
	o.remove(func(p *place) bool {
		if p.f == nil || p.n <= size {
			return false
		}
		p.ended, p.err = true, ErrTooLarge
		return true
	})
	for i := len(o.line) - 1; i >= 0 && d > 0; i-- { // the newest debt first
		if p := o.line[i]; p.f == nil {
			n := min(d, p.n)
			p.n, d = p.n-n, d-n
		}
	}
	o.remove(func(p *place) bool { return p.n == 0 })
	o.release(max(d, 0))
}

func (o *oracle) close() {
	o.closed = true
	o.remove(func(p *place) bool {
		if p.f == nil {
			return false
		}
		p.ended, p.err = true, ErrClosed
		return true
	})
}

// FuzzNumbersGoRound runs sequences of operations on a semaphore whose numbers begin near a corner,
// and on its specification, which has no numbers, and compares what can be seen after each.
// Whenever no goroutine is in line, others may go on by any number of permits.
func FuzzNumbersGoRound(f *testing.F) {
	f.Add(byte(1), byte(0), byte(1),
		[]byte{0x01, 0x11, 0x11, 0x21, 0x70, 0x30, 0x21, 0x75, 0x21})
	f.Add(byte(4), byte(3), byte(2),
		[]byte{0x04, 0x41, 0x13, 0x11, 0x12, 0x31, 0x21, 0x23, 0x7a, 0x47, 0x30})
	f.Add(byte(7), byte(9), byte(1),
		[]byte{0x05, 0x43, 0x72, 0x47, 0x40, 0x25, 0x76, 0x12, 0x77, 0x46, 0x30})
	f.Add(byte(3), byte(17), byte(64),
		[]byte{0x13, 0x12, 0x11, 0x11, 0x32, 0x22, 0x73, 0x30, 0x51, 0x11, 0x21})
	f.Add(byte(5), byte(21), byte(2),
		[]byte{0x05, 0x11, 0x44, 0x11, 0x43, 0x11, 0x31, 0x44, 0x25, 0x78, 0x47, 0x33, 0x30})
	f.Fuzz(func(t *testing.T, size, start, buckets byte, ops []byte) {
		o := &oracle{size: int64(size % 8), free: int64(size % 8)}
		s := New(o.size, WithWaitingArray(NewArray(int(buckets))))
		startAt(s, starts[int(start)%len(starts)])
		var live []*place // requests that have not been dropped
		held := int64(0)
		for i, op := range ops[:min(len(ops), 100)] {
			switch n := int64(op % 16); op >> 4 {
			case 0:
				n = max(n%8, 1)
				got := s.TryAcquire(n)
				require.Equal(t, o.try(n), got, "operation %d, TryAcquire(%d)", i, n)
				if got {
					held += n
				}
			case 1:
				p := &place{n: max(n%8, 1), f: new(waiter.Future)}
				s.Bind(p.f, p.n)
				p.f.Poll(nil)
				o.start(p)
				live = append(live, p)
			case 2:
				if n = min(n%8, held); n > 0 {
					held -= n
					s.Release(n)
					o.release(n)
				}
			case 3: // a request is dropped, wherever it stands, and whether it has been granted or not
				if len(live) > 0 {
					k := int(n) % len(live)
					p := live[k]
					live = append(live[:k:k], live[k+1:]...)
					p.f.Release()
					if p.ended && p.err == nil {
						o.release(p.n)
					} else {
						o.remove(func(q *place) bool { return q == p })
					}
				}
			case 4:
				s.Resize(n % 8)
				o.resize(n % 8)
			case 5:
				if n == 1 { // seldom
					s.Close()
					o.close()
				}
			case 6: // what has been granted is taken
				for k, p := range live {
					if p.ended && p.err == nil {
						require.NoError(t, p.f.Take())
						held += p.n
						live = append(live[:k:k], live[k+1:]...)
						break
					}
				}
			case 7:
				if len(o.line) == 0 && !o.closed {
					goOn(s, far[int(n)%len(far)])
				}
			default:
				continue
			}
			compare(t, i, o, s, live)
		}
		for _, p := range live {
			p.f.Release()
			if p.ended && p.err == nil {
				o.release(p.n)
			} else {
				o.remove(func(q *place) bool { return q == p })
			}
		}
		s.Release(held)
		o.release(held)
		compare(t, len(ops), o, s, nil)
		require.Equal(t, o.size, s.Available(), "at the end")
	})
}

func compare(t *testing.T, i int, o *oracle, s *Semaphore, live []*place) {
	t.Helper()
	require.Equal(t, o.size, s.Size(), "operation %d", i)
	free, waiting := o.free, 0
	if len(o.line) > 0 {
		free = 0
	}
	require.Equal(t, free, s.Available(), "operation %d", i)
	for k, p := range live {
		require.Equal(t, p.ended, p.f.Complete(), "operation %d, request %d", i, k)
		if p.ended && p.err != nil {
			require.ErrorIs(t, p.f.Err(), p.err, "operation %d, request %d", i, k)
		}
		if !p.ended {
			waiting++
		}
	}
	require.Equal(t, waiting, s.Waiting(), "operation %d", i)
}
