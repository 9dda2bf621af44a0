//go:build !(gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !msan && !asan && !farad_portable && !interleave)

package agents

import "unsafe"

func goroutine() uint64 { return traced() }

func identify() {}

func labels() unsafe.Pointer { return nil }

func labelMap(unsafe.Pointer) map[string]string { return nil }
