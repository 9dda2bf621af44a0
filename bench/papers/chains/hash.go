package chains

import "github.com/farad-go/farad/internal/parking"

// A Hash maps a semaphore and a ticket to a number. Its lower bits say where in an array the owner
// of the ticket waits. The semaphore is its address, or any number that identifies it.
//
// A semaphore's tickets count up, and the waiting ones are neighbours. A hash that uses this visits
// every slot of the array before it returns to one, and puts neighbours on different cache lines.
// It cannot know where other semaphores are: two of them may follow each other through the array.
//
// Source: the comments on TWAHash in Listing 2. For the hashes that the paper only names, the
// details are our own.
type Hash func(semaphore, ticket uint64) uint64

// stride is the distance of neighbours. It is odd, so that a semaphore's tickets reach every slot,
// and more than a cache line of slots.
const stride = 17

// Ticket is the papers' hash: address + 17·ticket.
func Ticket(semaphore, ticket uint64) uint64 { return semaphore + ticket*stride }

// Pairs is Ticket with two neighbours in each place: the signal of the first also wakes the second,
// which is too early but prepares it.
func Pairs(semaphore, ticket uint64) uint64 { return Ticket(semaphore, ticket>>1) }

// orbit is the logarithm of the number of slots in a page of 4 kB.
const orbit = 8

// Orbit fills one page with tickets before it goes on to the next: fewer pages are in use at a
// time.
func Orbit(semaphore, ticket uint64) uint64 {
	const page = 1<<orbit - 1
	return (semaphore>>orbit+ticket>>orbit)<<orbit | Ticket(semaphore, ticket)&page
}

// Gray is Ticket with the ticket's Gray code, which differs from the next in one bit. Once per
// array length that bit lies outside the array, and two neighbours collide.
func Gray(semaphore, ticket uint64) uint64 { return Ticket(semaphore, ticket^ticket>>1) }

// Product is address·ticket, so that no two semaphores follow each other. But an address that is a
// multiple of 64 reaches one slot in 64.
func Product(semaphore, ticket uint64) uint64 { return semaphore * ticket }

// Golden is the hash of our own array: the golden ratio spreads the semaphore, and the ticket is
// added.
func Golden(semaphore, ticket uint64) uint64 { return parking.Mix(semaphore, ticket) }

// Mix32A spreads the lower 32 bits of any number, such as an address. It does not use tickets.
func Mix32A(a uint64) uint64 {
	const k = 0x9abe94e3
	v := uint32(a)
	v = (v ^ v>>16) * k
	v = (v ^ v>>16) * k
	return uint64(v ^ v>>16)
}

// Mixed is Mix32A of Ticket.
func Mixed(semaphore, ticket uint64) uint64 { return Mix32A(Ticket(semaphore, ticket)) }
