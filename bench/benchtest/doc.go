// Package benchtest has what the tests of several packages need: semaphores that break their
// promise, and helpers. Only tests import it. It imports measure and peers.
package benchtest
