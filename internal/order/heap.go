package order

// A heap holds the lanes of tenants, the one that comes first in front. It is a binary heap in a
// slice: its worst case is O(log n) where a pairing heap's is O(n), and its user holds a lock. What
// lies between the length and the capacity of the slice are spare lanes, or nil.
type heap struct{ lanes []*lane }

// minLanes is the capacity up to which a heap keeps all lanes. A larger one shrinks.
const minLanes = 64

// spare returns a lane that is not in use, for fix to put in next. It is zero once its user has
// cleared what it took out last.
func (h *heap) spare() *lane {
	if n := len(h.lanes); n < cap(h.lanes) {
		if l := h.lanes[:n+1][n]; l != nil {
			return l
		}
	}
	return &lane{}
}

// fix puts l where it belongs, whether it is new or its tag has changed.
func (h *heap) fix(l *lane) {
	if l.share.place == 0 {
		h.lanes = append(h.lanes, l)
		l.share.place = len(h.lanes)
	}
	h.sift(l)
}

// remove takes l out.
func (h *heap) remove(l *lane) {
	last := len(h.lanes) - 1
	moved := h.lanes[last]
	h.lanes[last] = l
	h.lanes = h.lanes[:last]
	if moved != l {
		h.put(moved, l.share.place-1)
		h.sift(moved)
	}
	l.share.place = 0
	if cap(h.lanes) > minLanes && last < cap(h.lanes)/4 { // Give memory back, with half of the lanes.
		half := make([]*lane, cap(h.lanes)/2)
		copy(half, h.lanes[:len(half)])
		h.lanes = half[:last]
	}
}

// drop takes l out, and does not keep it as a spare one.
func (h *heap) drop(l *lane) {
	h.remove(l)
	h.lanes[:len(h.lanes)+1][len(h.lanes)] = nil
}

// sift moves l up or down until the lane above it is less and those below it are not.
func (h *heap) sift(l *lane) {
	lanes, i := h.lanes, l.share.place-1
	for i > 0 {
		above := lanes[(i-1)/2]
		if !l.before(above) {
			break
		}
		h.put(above, i)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= len(lanes) {
			break
		}
		least := lanes[child]
		if child+1 < len(lanes) {
			if other := lanes[child+1]; other.before(least) {
				child, least = child+1, other
			}
		}
		if !least.before(l) {
			break
		}
		h.put(least, i)
		i = child
	}
	h.put(l, i)
}

func (h *heap) put(l *lane, i int) {
	h.lanes[i] = l
	l.share.place = i + 1
}
