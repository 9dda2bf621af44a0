package twa

import (
	"context"

	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An EventCount counts events, from 0, and lets goroutines wait until there have been so many.
// With a [Sequencer] it orders what goroutines do without excluding them from each other: each
// takes a number, and awaits the event before it. The zero EventCount is ready. It must not be
// copied after first use.
//
// A goroutine that waits for a number sleeps in the waiting array of the process under that number,
// so that an Advance wakes only the goroutines that can proceed.
//
// Source: Reed and Kanodia, Synchronization with Eventcounts and Sequencers (CACM 1979); on a
// waiting array: Dice and Kogan.
type EventCount struct {
	_     noCopy
	count xsync.Int64
	id    number // for the hash
}

// Read returns how many events there have been.
func (e *EventCount) Read() int64 { return e.count.Load() }

// Advance counts one more event, wakes the goroutines that wait for it, and returns the new count.
// What happened before it happens before the return of every Await for that count, or a larger one
// that it helps to reach.
func (e *EventCount) Advance() int64 {
	n := e.count.Add(1)
	if id := e.id.Load(); id != 0 { // else no goroutine has ever waited
		parking.Default().Signal(e.key(id, n))
	}
	return n
}

// Await waits until there have been n events, or ctx is done. It returns nil only if there have,
// and otherwise ctx.Err(). A context that is done already does not wait, even if there have been,
// and a cancel that happened before the n'th event wins, always.
func (e *EventCount) Await(ctx context.Context, n int64) error {
	if ctx == nil {
		panic("twa: nil context")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.count.Load() < n {
		still := func() bool { return e.count.Load() < n }
		if _, err := parking.Default().Sleep(waiting.UntilDone(ctx), e.key(e.id.get(), n), 0, still); err != nil {
			return err
		}
	}
	return stillErr(ctx)
}

// stillErr returns the error of ctx, which had none, if it has ended in the meantime: maybe before
// what was waited for has come.
func stillErr(ctx context.Context) error {
	if !xsync.MayEnd(ctx) {
		return nil
	}
	return ctx.Err()
}

func (e *EventCount) key(id, n int64) parking.Key {
	return parking.Key{Object: e, Part: n, Hash: uintptr(id)}
}

// A Sequencer hands out numbers: 0, 1, 2 and so on, each once. The zero Sequencer is ready. It must
// not be copied after first use.
//
// Memory model: a Ticket happens before each later one.
//
// Source: Reed and Kanodia, as for [EventCount].
type Sequencer struct {
	_    noCopy
	next xsync.Int64
}

// Ticket returns the next number. It is wait-free.
func (s *Sequencer) Ticket() int64 { return s.next.Add(1) - 1 }
