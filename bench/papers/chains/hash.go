package chains

import "github.com/farad-go/farad/internal/parking"

// A Hash maps a semaphore and a ticket to a number whose lower bits say where in an array the
// ticket's owner waits. The semaphore is its address, or any number that tells it from others.
//
// A semaphore's tickets count up, and those that wait are neighbours. A hash that knows it lets
// them march through the whole array before one comes back, and puts neighbours on different cache
// lines. What it cannot know is where other semaphores are: two of them may march in step, one on
// the other's heels.
//
// Source: the comments on TWAHash in Listing 2; of those that are only named there the details are
// ours.
type Hash func(semaphore, ticket uint64) uint64

// stride is how far neighbours are apart: prime to every power of two, so that a semaphore's
// tickets go everywhere, and more than a cache line of slots.
const stride = 17

// Ticket is the papers' hash: address + 17·ticket.
func Ticket(semaphore, ticket uint64) uint64 { return semaphore + ticket*stride }

// Pairs is Ticket with two neighbours in each place: the signal of the first wakes the second in
// vain, but early.
func Pairs(semaphore, ticket uint64) uint64 { return Ticket(semaphore, ticket>>1) }

// orbit is the logarithm of how many slots are a page: 4 kB of them.
const orbit = 8

// Orbit lets tickets go round within a page, all of it, before they go on to the next page: fewer
// pages are in use at a time.
func Orbit(semaphore, ticket uint64) uint64 {
	const page = 1<<orbit - 1
	return (semaphore>>orbit+ticket>>orbit)<<orbit | Ticket(semaphore, ticket)&page
}

// Gray is Ticket with the ticket's Gray code, which differs from the next in one bit. Where that
// bit is beyond the array, once in its length, two neighbours meet.
func Gray(semaphore, ticket uint64) uint64 { return Ticket(semaphore, ticket^ticket>>1) }

// Product is address·ticket, so that no two semaphores march in step. But an address that is a
// multiple of 64 reaches one slot in 64.
func Product(semaphore, ticket uint64) uint64 { return semaphore * ticket }

// Golden is what our own array has: the semaphore is spread by the golden ratio, the ticket
// marches.
func Golden(semaphore, ticket uint64) uint64 { return parking.Mix(semaphore, ticket) }

// Mix32A spreads the lower 32 bits of any number, such as an address. It knows nothing of tickets.
func Mix32A(a uint64) uint64 {
	const k = 0x9abe94e3
	v := uint32(a)
	v = (v ^ v>>16) * k
	v = (v ^ v>>16) * k
	return uint64(v ^ v>>16)
}

// Mixed is Mix32A of Ticket.
func Mixed(semaphore, ticket uint64) uint64 { return Mix32A(Ticket(semaphore, ticket)) }
