// Package linked says what the linker has put into this program.
//
// The question is whether the program can make bubbles of testing/synctest: only a test binary that
// uses that package can. No package reports whether it is linked without linking it. So this one
// looks for functions in the table that every Go program has for its stack traces.
package linked

import (
	"runtime"
	"strings"
	"sync"
)

// bubbles is the function that runs a bubble. It is the runtime's, under the name by which package
// testing/synctest reaches it. Nothing else calls it, and the linker leaves out what nobody calls.
// Since Go 1.27 the linker allows no other package to refer to it.
const bubbles = "internal/synctest.Run"

// The table is searched by addresses, because there is no search by names. The first search looks
// for package testing, in steps well below its size: 60 kB or more in every test binary, which the
// linker keeps together. So it costs other programs little. The second looks for one function, in
// steps well below its size of 800 bytes, so that it finds the function wherever it is. On
// WebAssembly the upper bits of an address are the number of a function; package testing has 140
// functions and more.
const (
	packageStep  = 8 << 10
	functionStep = 256

	wasmFunctionStep = 1 << 16
	wasmPackageStep  = 16 * wasmFunctionStep
)

// Bubbles reports whether this program can make bubbles of testing/synctest. The answer never
// changes. The first call looks for it, and others wait for that. It takes about 200 µs for each
// megabyte of machine code, because the table has to come to memory.
var Bubbles = sync.OnceValue(func() bool {
	forPackage, forFunction := uintptr(packageStep), uintptr(functionStep)
	if runtime.GOARCH == "wasm" {
		forPackage, forFunction = wasmPackageStep, wasmFunctionStep
	}
	// Rounded down, because on WebAssembly the lower bits lead into what is inlined.
	from := here() &^ (forFunction - 1)
	_, found := find(from, forPackage, func(name string) bool { return strings.HasPrefix(name, "testing.") })
	if found {
		_, found = find(from, forFunction, func(name string) bool { return name == bubbles })
	}
	return found
})

// here returns an address in the text of the program.
func here() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

// find returns an address in a function whose name matches. It steps away from an address in the
// text of the program, in both directions at once, until it has left the text at both ends.
func find(from, step uintptr, matches func(name string) bool) (address uintptr, found bool) {
	above, below := from, from
	for inside := true; inside; above, below = above+step, below-step {
		inside = false
		for _, pc := range [...]uintptr{above, below} {
			// Any address may be asked for. Beyond the text, which is one piece, there is no
			// function.
			if f := runtime.FuncForPC(pc); f != nil {
				inside = true
				// At the address itself there may be another function, inlined into this one.
				if matches(runtime.FuncForPC(f.Entry()).Name()) {
					return pc, true
				}
			}
		}
	}
	return 0, false
}
