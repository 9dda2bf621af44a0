// Package array measures the waiting array: semaphores on it in the benchmark of its paper, other
// ways to wait that the papers describe, and a simulation of hash functions.
//
// It imports locks, whose form its workloads have, and the algorithms in bench/papers. Read
// semabench.go first, then policies.go and variants.go.
package array
