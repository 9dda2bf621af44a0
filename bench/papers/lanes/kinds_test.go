package lanes

import "context"

var bg = context.Background()

// keyOf returns a key that belongs to one of n lanes.
func keyOf(lane, n int) uint64 {
	key := uint64(0)
	for laneOf(key, n) != lane {
		key++
	}
	return key
}
