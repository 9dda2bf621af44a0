package order

// A heap holds the lanes of tenants, the one that comes first in front. It is a binary heap in a
// slice: its worst case is O(log n) where a pairing heap's is O(n), and its user holds a lock.
type heap struct{ lanes []*lane }

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
	h.lanes[last] = nil
	h.lanes = h.lanes[:last]
	if moved != l {
		h.put(moved, l.share.place-1)
		h.sift(moved)
	}
	l.share.place = 0
	if cap(h.lanes) > 64 && last < cap(h.lanes)/4 { // Give memory back.
		h.lanes = append(make([]*lane, 0, cap(h.lanes)/2), h.lanes...)
	}
}

// sift moves l up or down until the lane above it is less and those below it are not.
func (h *heap) sift(l *lane) {
	i := l.share.place - 1
	for i > 0 && l.before(h.lanes[(i-1)/2]) {
		h.put(h.lanes[(i-1)/2], i)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child+1 < len(h.lanes) && h.lanes[child+1].before(h.lanes[child]) {
			child++
		}
		if child >= len(h.lanes) || !h.lanes[child].before(l) {
			break
		}
		h.put(h.lanes[child], i)
		i = child
	}
	h.put(l, i)
}

func (h *heap) put(l *lane, i int) {
	h.lanes[i] = l
	l.share.place = i + 1
}
