// Package capacitor measures the capacitor: its mutex, and its gate in front of other locks, in the
// benchmark of its paper; also hand-offs, and every lock of this module side by side.
//
// It imports locks, whose form its workloads have, and the algorithms in bench/papers. Read
// mutexbench.go first.
package capacitor
