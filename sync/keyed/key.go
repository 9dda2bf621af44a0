package keyed

import (
	"fmt"
	"reflect"
)

// A key that is not equal to itself would never be found again, and the hash of one that cannot be
// compared panics. Types that have no such values are recognized once, when the table is made.

// mayBeRefused reports whether some values of type t cannot be keys: it has a floating-point number
// or an interface inside.
func mayBeRefused(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return true
	case reflect.Array:
		return mayBeRefused(t.Elem())
	case reflect.Struct:
		for i := range int(t.NumField()) {
			if mayBeRefused(t.Field(i).Type) {
				return true
			}
		}
	default:
	}
	return false
}

// requireKey panics if k cannot be a key.
func requireKey[K comparable](k K) {
	switch equal, ok := equalsItself(k); {
	case !ok:
		panic(fmt.Sprintf("keyed: key %v of type %T cannot be compared", any(k), any(k)))
	case !equal:
		panic("keyed: key " + name(k) + " is not equal to itself")
	}
}

// equalsItself reports whether k == k. If that panics k is not comparable, and ok is false. What is
// equal to itself has been compared in all its parts, so its hash does not panic.
func equalsItself[K comparable](k K) (equal, ok bool) {
	defer func() { ok = recover() == nil }()
	return k == k, true
}

// name returns how a panic names k.
func name[K comparable](k K) string {
	if reflect.TypeFor[K]().Kind() == reflect.String {
		return fmt.Sprintf("%q", any(k))
	}
	return fmt.Sprintf("%+v", any(k))
}
