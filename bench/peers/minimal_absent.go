//go:build !(gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !race && !msan && !asan && !farad_portable && !interleave)

package peers

// HasMinimalLock reports whether this build has a [MinimalLock].
const HasMinimalLock = false

func (n *MinimalNode) park() { panic("bench: this build has no minimal lock") }

func (n *MinimalNode) wake() {}
