//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && arm64 && !msan && !asan && !farad_portable && !interleave

#include "textflag.h"

// func walk(pcs *[16]uintptr) (n int)
//
// See walk_amd64.s. The first record may be just below the stack pointer.
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-16
	MOVD pcs+0(FP), R0
	MOVD 8(g), R1 // stack.hi
	SUB  $16, R1
	MOVD RSP, R2
	SUB  $16, R2
	MOVD R29, R3
	MOVD $0, R4

next:
	CMP  R2, R3
	BLS  done
	CMP  R1, R3
	BHI  done
	MOVD 8(R3), R5
	CBZ  R5, done
	MOVD R5, (R0)
	ADD  $8, R0
	ADD  $1, R4
	MOVD R3, R2
	MOVD (R3), R3
	CMP  $16, R4
	BLT  next

done:
	MOVD R4, n+8(FP)
	RET
