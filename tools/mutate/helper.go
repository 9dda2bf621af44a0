package main

import "strings"

// helperFile is the name of a file that is added to the package of a mutant.
const helperFile = "zz_mutate.go"

// helper is the code that the mutants torn and blind call. It uses the operations of the variable's
// own type. If that is a model's type, there is a scheduling point between the two halves.
func helper(f *file) []byte {
	return []byte(strings.Replace(helperText, "PACKAGE", f.syntax.Name.Name, 1))
}

const helperText = `package PACKAGE

type mutateVar[T any] interface {
	Load() T
	Store(T)
}

type mutateInt interface {
	~int32 | ~int64 | ~uint32 | ~uint64 | ~uintptr
}

func mutateTornCompareAndSwap[T comparable](x mutateVar[T], a, b T) bool {
	if x.Load() != a {
		return false
	}
	x.Store(b)
	return true
}

func mutateBlindCompareAndSwap[T any](x mutateVar[T], _, b T) bool {
	x.Store(b)
	return true
}

func mutateTornSwap[T any](x mutateVar[T], v T) T {
	old := x.Load()
	x.Store(v)
	return old
}

func mutateTornAdd[T mutateInt](x mutateVar[T], d T) T {
	v := x.Load() + d
	x.Store(v)
	return v
}

func mutateTornOr[T mutateInt](x mutateVar[T], mask T) T {
	old := x.Load()
	x.Store(old | mask)
	return old
}

func mutateTornAnd[T mutateInt](x mutateVar[T], mask T) T {
	old := x.Load()
	x.Store(old & mask)
	return old
}
`
