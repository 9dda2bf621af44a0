//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !msan && !asan && !farad_portable && !interleave

package agents

import "unsafe"

// getg returns the g of the calling goroutine.
func getg() unsafe.Pointer

// goidAt is where a g has the goroutine's number; 0: not known. It is written by Identify,
// before the first lock is observed.
var goidAt uintptr

// goroutine returns the number of the calling goroutine.
//
//go:norace
//go:nocheckptr
func goroutine() uint64 {
	if goidAt == 0 {
		return traced()
	}
	return *(*uint64)(unsafe.Add(getg(), goidAt))
}

// identify finds out where a g has the goroutine's number: at the one place where several have
// theirs.
func identify() {
	const words, samples = 32, 4
	var at [words]int
	for range samples {
		done := make(chan struct{})
		go func() {
			defer close(done)
			id, g := traced(), getg()
			for i := range at {
				if *(*uint64)(unsafe.Add(g, uintptr(i)*unsafe.Sizeof(g))) == id {
					at[i]++
				}
			}
		}()
		<-done
	}
	found := uintptr(0)
	for i, n := range at {
		switch {
		case n < samples:
		case found == 0:
			found = uintptr(i) * unsafe.Sizeof(found)
		default:
			return // two places: who knows
		}
	}
	goidAt = found
}

//go:linkname runtime_getProfLabel runtime/pprof.runtime_getProfLabel
func runtime_getProfLabel() unsafe.Pointer //nolint:revive // the runtime's name

// labels returns the profiler labels of the calling goroutine.
//
//go:norace
func labels() unsafe.Pointer { return runtime_getProfLabel() }

// labelMap returns labels as a map. They are a slice of keys and values:
// TestLabelsAreThoseOfTheProfiler.
func labelMap(p unsafe.Pointer) map[string]string {
	if p == nil {
		return nil
	}
	m := map[string]string{}
	for _, l := range *(*[]struct{ key, value string })(p) {
		m[l.key] = l.value
	}
	return m
}
