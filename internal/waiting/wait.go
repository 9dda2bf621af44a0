package waiting

import (
	"context"

	"github.com/farad-go/farad/internal/xsync"
)

// A Line is what a waiter stands in, as seen by a waiter that gives up.
type Line interface {
	// Unlink takes w out of the line and reports whether it was there. If not, a claimer was
	// faster, and the outcome is on its way to w.
	Unlink(w *Waiter) bool

	// GiveBack takes back the n permits of a grant that came too late. If fewer are held, because
	// another caller has released them already, it changes nothing and reports false.
	GiveBack(n int64) bool
}

// Wait waits until the outcome is there or l ends the wait. p is queued in line. If the outcome is
// there Wait returns it, and the caller calls p.Put. Otherwise Wait calls Leave, and returns the
// error of l.
//
// Leave is the only place where a goroutine's wait ends early. If the context of l panics, or ends
// the goroutine, p has left, too: a context may be of a foreign type.
func Wait[L Line](p *Parker, l Limit, line L) (Outcome, error) {
	p.Start(l)
	p.sleeper.SleepInline()
	return EndWait(p, l, line)
}

// EndWait is the last part of Wait, after Start and SleepInline.
func EndWait[L Line](p *Parker, l Limit, line L) (Outcome, error) {
	if WokenIn(p, l, line) {
		return p.Outcome(), nil
	}
	return Pending, l.Err()
}

// EndRequest ends a request for p.N permits of line, whose outcome was o when it was made, and puts
// p. If o is [Pending], the wait has started. With an error, of l or of the outcome, the caller has
// got nothing.
func EndRequest[L Line](p *Parker, l Limit, line L, o Outcome) error {
	n, atOnce := p.N, o != Pending
	if !atOnce {
		var err error
		if o, err = EndWait(p, l, line); err != nil {
			return err
		}
	}
	p.Put()
	if atOnce && o == Granted {
		return KeepUntil(l, line, n)
	}
	return o.Err()
}

// WokenIn is Woken of p, which is queued in line and leaves it unless the answer is true.
func WokenIn[L Line](p *Parker, l Limit, line L) (woken bool) {
	defer func() {
		if !woken { // or the context has panicked
			Leave(p, line)
		}
	}()
	return p.Woken(l)
}

// Leave ends the request of p, which was queued in line, without its outcome: it takes p out of the
// line, gives back a grant that came too late, and puts p.
func Leave[L Line](p *Parker, line L) {
	claimed := !line.Unlink(&p.Waiter)
	n := p.N // after Unlink: a claimer may write it
	if p.Withdraw(claimed) == Granted {
		GiveBack(line, n)
	}
}

// Keep ends a request for n permits that was granted without a wait. If ctx is done, Keep gives
// them back and returns ctx.Err(): a cancel that happened before the grant wins. If ctx, of a
// foreign type, panics or ends the goroutine, Keep gives them back, too.
//
// A look at the context before the request is not enough. The context may end after that look, and
// the permits may become free only later. Park asks the context of a goroutine that slept.
func Keep[L interface{ GiveBack(n int64) bool }](ctx context.Context, line L, n int64) error {
	xsync.Learn(ctx)
	kept := false
	defer func() {
		if !kept {
			GiveBack(line, n)
		}
	}()
	err := ctx.Err()
	kept = err == nil
	return err
}

// KeepUntil is Keep with the context of l, if it has one.
func KeepUntil[L interface{ GiveBack(n int64) bool }](l Limit, line L, n int64) error {
	if l.ctx == nil {
		return nil
	}
	return Keep(l.ctx, line, n)
}

// GiveBack gives back n permits that line has granted.
func GiveBack[L interface{ GiveBack(n int64) bool }](line L, n int64) {
	if !line.GiveBack(n) {
		panic("farad: more was released than was held, beside a request that was given up")
	}
}
