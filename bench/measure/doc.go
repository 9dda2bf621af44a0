// Package measure takes one figure: it lets goroutines loop for a window, or has a lap of work
// done, and counts operations, allocations and waits.
//
// It also has what every family needs around a figure: the timing, the forms of contexts, crowds of
// blocked goroutines, the statistics over rounds, and the description of the machine. It imports
// nothing of this module.
//
// Read measure.go first, then gang.go for the goroutines and laps.go for work with a beginning and
// an end.
package measure
