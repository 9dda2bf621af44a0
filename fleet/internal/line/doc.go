// Package line is what a process of a fleet decides about one semaphore: when to ask for permits,
// whom to give them, and when to return them. It is pure: the simulator runs it in virtual time,
// and the package fleet over a store.
//
// Read store/state.go first (the line, and who holds), then agent.go (one process's part in it).
package line
