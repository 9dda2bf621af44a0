package observed

// Within makes locks known that no [Kind] can be for, because their types have parameters. of
// returns the registered one that is inside, or nil if it knows nothing of a lock.
func Within(of func(lock any) any) { kinds = append(kinds, within(of)) }

// within is a [kind] of what is inside.
type within func(lock any) any

func (w within) watch(lock any, name string, level Level) bool {
	inside := w(lock)
	return inside != nil && Watch(inside, name, level)
}

func (w within) unwatch(lock any) bool {
	inside := w(lock)
	return inside != nil && Unwatch(inside)
}
