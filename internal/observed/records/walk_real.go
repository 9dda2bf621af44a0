//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64) && !msan && !asan && !farad_portable && !interleave

package records

// walk writes the return addresses of the caller and its callers, innermost first, and returns how
// many there are. It follows frame pointers, in assembly, where no goroutine is preempted and so no
// stack moves.
//
//go:noescape
func walk(pcs *[depth]uintptr) (n int)
