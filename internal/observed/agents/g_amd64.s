//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && amd64 && !msan && !asan && !farad_portable && !interleave

#include "textflag.h"

// func getg() unsafe.Pointer
TEXT ·getg(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
