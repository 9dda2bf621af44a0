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
	cancel
)

// late is the fate of a request that is granted after its context has ended. The permits are its
// own until it gives them back.
const late = Panicked + 1

// actions are the actions of the kinds that are one step.
var actions = [...]action{TryAcquire: try, Release: release, Resize: resize, Close: shut, Cancel: cancel}

// A step is what happens at one moment.
type step struct {
	action action
	result Result // of the operation
	seat   uint8  // of an Acquire: its number among them
	n      int64

	context bool // cancel ends the operation
}

// A state is the semaphore's between two steps. Equal states are equal values.
type state struct {
	size, avail int64 // avail < 0: a debt, which releases pay first
	closed      bool
	cancelled   bool // the context has ended

	queued uint8
	queue  [MaxAcquires]uint8  // seats, oldest first; zeroes behind them
	fate   [MaxAcquires]Result // how the request of each seat ended; None: it has not, or there is none yet
}

// after returns the state after t, nil if t cannot happen now. asks are the requests of the seats.
func (s *state) after(t *step, asks []*step) *state {
	switch t.action { // what changes nothing, or cannot happen, costs no copy
	case outcome:
		return s.when(s.fate[t.seat] == t.result)
	case stay:
		return s.when(s.place(t.seat) >= 0 && (!t.context || !s.cancelled))
	case leave:
		switch fate := s.fate[t.seat]; {
		case t.context && !s.cancelled:
			return nil
		case fate == None && s.place(t.seat) < 0:
			return nil // has not come
		case (fate == Granted || fate == late) && t.result == Cancelled && !s.held(t.n):
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
		to.request(t)
	case leave:
		to.leave(t, asks)
	case giveBack:
		to.fate[t.seat] = Cancelled
		to.free(t.n, asks)
	case try:
		to.avail -= t.n
	case release:
		to.free(t.n, asks)
	case resize:
		to.resize(t.n, asks)
	case shut:
		to.closed = true
		for to.queued > 0 {
			to.end(0, Closed)
		}
	case cancel:
		to.cancelled = true
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

func (s *state) request(t *step) {
	switch {
	case s.closed:
		s.fate[t.seat] = Closed
	case t.n > s.size:
		s.fate[t.seat] = TooLarge
	case s.fits(t.n):
		s.avail -= t.n
		s.fate[t.seat] = s.grant(t)
	default:
		s.queue[s.queued] = t.seat
		s.queued++
	}
}

// grant returns the fate of a request that gets its permits now.
func (s *state) grant(t *step) Result {
	if t.context && s.cancelled {
		return late
	}
	return Granted
}

// end takes the request at a place out of the queue.
func (s *state) end(place int, fate Result) {
	s.fate[s.queue[place]] = fate
	s.queued--
	copy(s.queue[place:], s.queue[place+1:s.queued+1])
	s.queue[s.queued] = 0
}

func (s *state) leave(t *step, asks []*step) {
	switch fate := s.fate[t.seat]; {
	case fate == None:
		s.end(s.place(t.seat), Cancelled)
		s.serve(asks)
	case fate == Granted && t.result == Abandoned:
		s.fate[t.seat] = Abandoned
	case fate == Granted, fate == late:
		s.fate[t.seat] = Cancelled
		s.free(t.n, asks)
	default:
		s.fate[t.seat] = Cancelled
	}
}

func (s *state) free(n int64, asks []*step) {
	s.avail += n
	s.serve(asks)
}

func (s *state) resize(size int64, asks []*step) {
	s.avail += size - s.size
	s.size = size
	for i := int(s.queued) - 1; i >= 0; i-- {
		if asks[s.queue[i]].n > size {
			s.end(i, TooLarge)
		}
	}
	s.serve(asks)
}

// serve grants the oldest requests as far as the permits go.
func (s *state) serve(asks []*step) {
	for s.queued > 0 && asks[s.queue[0]].n <= s.avail {
		ask := asks[s.queue[0]]
		s.avail -= ask.n
		s.end(0, s.grant(ask))
	}
}
