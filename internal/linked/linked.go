// Package linked says what the linker has put into this program.
//
// The question is whether the program is a test binary. Package testing knows, but a program that
// imports it to ask carries 300 kB more, package flag included. So this package looks for the
// functions of package testing in the table that every Go program has for its stack traces.
package linked

import (
	"runtime"
	"strings"
	"sync"
)

// The table is searched by addresses, because there is no search by names. The first search looks
// for the package, in steps well below its size: 60 kB or more in every test binary, which the
// linker keeps together. The second looks for one function, in steps well below its size of 3 kB,
// so that it finds the function wherever it is. On WebAssembly the upper bits of an address are the
// number of a function; the package has 140 functions and more.
const (
	packageStep  = 8 << 10
	functionStep = 256

	wasmFunctionStep = 1 << 16
	wasmPackageStep  = 16 * wasmFunctionStep
)

// TestBinary reports whether this program is a test binary, which is one that can call Run of a
// testing.M. The answer never changes. The first call looks for it, and others wait for that. It
// takes about 200 µs for each megabyte of machine code, because the table has to come to memory.
var TestBinary = sync.OnceValue(testBinary)

func testBinary() bool {
	forPackage, forFunction := uintptr(packageStep), uintptr(functionStep)
	if runtime.GOARCH == "wasm" {
		forPackage, forFunction = wasmPackageStep, wasmFunctionStep
	}
	// Rounded down, because on WebAssembly the lower bits lead into what is inlined.
	there, found := find(here()&^(forFunction-1), forPackage, func(name string) bool {
		return strings.HasPrefix(name, "testing.")
	})
	if found { // A program that imports package testing for something else has no use for the method.
		_, found = find(there, forFunction, func(name string) bool {
			return name == "testing.(*M).Run"
		})
	}
	return found
}

// here returns an address in the text of the program.
func here() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

// find returns an address at which a function has a name that matches. It steps away from an
// address in the text of the program, in both directions at once, until it has left the text at
// both ends.
func find(from, step uintptr, matches func(name string) bool) (address uintptr, found bool) {
	above, below := from, from
	for inside := true; inside; above, below = above+step, below-step {
		inside = false
		for _, pc := range [...]uintptr{above, below} {
			// Any address may be asked for. Beyond the text, which is one piece, there is no
			// function.
			if f := runtime.FuncForPC(pc); f != nil {
				inside = true
				if matches(f.Name()) {
					return pc, true
				}
			}
		}
	}
	return 0, false
}
