#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	LFENCE
	RET
