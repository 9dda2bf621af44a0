package order

// Spares are tickets or lanes that are not in use. There are at most 64 more of them than are in
// use, so a line that was long gives its memory back as it gets shorter.
type spares[T interface {
	comparable
	link() *T // where a spare one has the next spare one
}] struct {
	first T
	size  int
}

const minSpares = 64

// take returns a spare one, or the zero T if there is none.
func (s *spares[T]) take() T {
	var none T
	t := s.first
	if t != none {
		s.first, *t.link() = *t.link(), none
		s.size--
	}
	return t
}

// put keeps t, which is zero. used is how many are in use.
func (s *spares[T]) put(t T, used int) {
	*t.link() = s.first
	s.first = t
	s.size++
	for range 2 { // The bound falls by one with each call, and the call adds one.
		if s.size > minSpares+used {
			s.take()
		}
	}
}

func (t *Ticket) link() **Ticket { return &t.next } //nolint:unused // spares calls it

func (l *lane) link() **lane { return &l.share.spare } //nolint:unused // spares calls it
