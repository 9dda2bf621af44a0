package array

// pause executes a PAUSE, a processor's hint that a loop waits. It takes 5 to 50 ns, depending on
// the processor.
func pause()

// fence executes an LFENCE, which lets no later instruction begin before all earlier ones are done.
// So the processor has not begun the next turns of the loop on a guess, which it would have to undo
// when the word changes.
func fence()

// instructionPolicies are Listing 2 with one instruction or the other between two polls of near
// waiters.
var instructionPolicies = []policy{
	onBare("1: PAUSE, PAUSE", bareConfig{threshold: 1, words: arrayBuckets, near: pause, far: pause}),
	onBare("1: LFENCE, PAUSE", bareConfig{threshold: 1, words: arrayBuckets, near: fence, far: pause}),
}
