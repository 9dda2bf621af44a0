package share

// numbers are those of entries.
type numbers int64

func (n *numbers) next() int64 {
	*n++
	return int64(*n) - 2 // an agent's first entry has 0
}
