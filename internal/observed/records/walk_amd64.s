//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && amd64 && !msan && !asan && !farad_portable && !interleave

#include "textflag.h"

// func walk(pcs *[16]uintptr) (n int)
//
// A frame's record is the caller's frame pointer and the return address. The walk ends where the
// next is not above the last, or not below the end of the stack: whatever stands there is safe.
TEXT ·walk(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ pcs+0(FP), DI
	MOVQ (TLS), AX
	MOVQ 8(AX), BX // stack.hi
	SUBQ $16, BX
	MOVQ SP, DX
	MOVQ BP, CX
	XORL SI, SI

next:
	CMPQ CX, DX
	JLS  done
	CMPQ CX, BX
	JHI  done
	MOVQ 8(CX), R8
	TESTQ R8, R8
	JZ   done
	MOVQ R8, (DI)(SI*8)
	INCQ SI
	MOVQ CX, DX
	MOVQ (CX), CX
	CMPQ SI, $16
	JLT  next

done:
	MOVQ SI, n+8(FP)
	RET
