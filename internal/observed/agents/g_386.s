//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && 386 && !msan && !asan && !farad_portable && !interleave

#include "textflag.h"

// func getg() unsafe.Pointer
TEXT ·getg(SB), NOSPLIT, $0-4
	MOVL (TLS), AX
	MOVL AX, ret+0(FP)
	RET
