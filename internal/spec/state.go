package spec

// An action is what one step does.
type action uint8

const (
	request  action = iota // of an Acquire: come
	outcome                // see the result
	leave                  // give up
	giveBack               // pass on what was granted after all
	stay                   // be there in the end
	try
	release
	resize
	shut
)

// actions are those of the kinds that are one step.
var actions = [...]action{TryAcquire: try, Release: release, Resize: resize, Close: shut}

// A step is what happens at one moment.
type step struct {
	action action
	result Result // of the operation
	seat   uint8  // of an Acquire: its number among them
	n      int64
}

// A state is the semaphore's between two steps. Equal states are equal values.
type state struct {
	size, avail int64 // avail < 0: a debt, which releases pay first
	closed      bool

	queued uint8
	queue  [MaxAcquires]uint8  // seats, oldest first; zeroes behind them
	fate   [MaxAcquires]Result // how the request of each seat ended; None: it has not, or there is none yet
}

// after returns the state after t, nil if t cannot happen now. need is what the seats request.
func (s *state) after(t *step, need []int64) *state {
	switch t.action { // what changes nothing, or cannot happen, costs no copy
	case outcome:
		return s.when(s.fate[t.seat] == t.result)
	case stay:
		return s.when(s.place(t.seat) >= 0)
	case leave:
		switch fate := s.fate[t.seat]; {
		case fate == None && s.place(t.seat) < 0:
			return nil // has not come
		case fate == Granted && t.result == Cancelled && !s.held(t.n):
			return nil // others have released what it held
		}
	case giveBack:
		if fate := s.fate[t.seat]; fate != Abandoned || !s.held(t.n) {
			return s.when(fate == Cancelled)
		}
	case try:
		if free := !s.closed && s.fits(t.n); !free || t.result == Refused {
			return s.when(free == (t.result == Granted))
		}
	case release:
		if held := s.held(t.n); !held || t.result == Panicked {
			return s.when(held == (t.result == Done))
		}
	default:
	}

	to := *s
	switch t.action {
	case request:
		to.request(t.seat, t.n)
	case leave:
		to.leave(t, need)
	case giveBack:
		to.fate[t.seat] = Cancelled
		to.free(t.n, need)
	case try:
		to.avail -= t.n
	case release:
		to.free(t.n, need)
	case resize:
		to.resize(t.n, need)
	case shut:
		to.closed = true
		for to.queued > 0 {
			to.end(0, Closed)
		}
	default:
	}
	return &to
}

func (s *state) when(possible bool) *state {
	if possible {
		return s
	}
	return nil
}

// fits reports whether n permits can be had at once. None can always.
func (s *state) fits(n int64) bool { return n == 0 || s.queued == 0 && s.avail >= n }

// held reports whether n permits are held.
func (s *state) held(n int64) bool { return n <= s.size-s.avail }

// place returns where in the queue a seat is, -1 if it is not there.
func (s *state) place(seat uint8) int {
	for i, q := range s.queue[:s.queued] {
		if q == seat {
			return i
		}
	}
	return -1
}

func (s *state) request(seat uint8, n int64) {
	switch {
	case s.closed:
		s.fate[seat] = Closed
	case n > s.size:
		s.fate[seat] = TooLarge
	case s.fits(n):
		s.avail -= n
		s.fate[seat] = Granted
	default:
		s.queue[s.queued] = seat
		s.queued++
	}
}

// end takes whoever is at a place out of the queue.
func (s *state) end(place int, fate Result) {
	s.fate[s.queue[place]] = fate
	s.queued--
	copy(s.queue[place:], s.queue[place+1:s.queued+1])
	s.queue[s.queued] = 0
}

func (s *state) leave(t *step, need []int64) {
	switch fate := s.fate[t.seat]; {
	case fate == None:
		s.end(s.place(t.seat), Cancelled)
		s.serve(need)
	case fate == Granted && t.result == Abandoned:
		s.fate[t.seat] = Abandoned
	case fate == Granted:
		s.fate[t.seat] = Cancelled
		s.free(t.n, need)
	default:
		s.fate[t.seat] = Cancelled
	}
}

func (s *state) free(n int64, need []int64) {
	s.avail += n
	s.serve(need)
}

func (s *state) resize(size int64, need []int64) {
	s.avail += size - s.size
	s.size = size
	for i := int(s.queued) - 1; i >= 0; i-- {
		if need[s.queue[i]] > size {
			s.end(i, TooLarge)
		}
	}
	s.serve(need)
}

// serve grants the oldest requests as far as the permits go.
func (s *state) serve(need []int64) {
	for s.queued > 0 && need[s.queue[0]] <= s.avail {
		s.avail -= need[s.queue[0]]
		s.end(0, Granted)
	}
}
