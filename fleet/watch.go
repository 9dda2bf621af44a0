package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
)

// A feed is a watch of a source, for the drivers of the lines there. A process has one, of all
// lines, however many it has opened. Changes of other lines arrive, too, and are dropped.
//
// If the store refuses that watch, because a role covers single lines only, each line has a feed of
// its own meanwhile. See apart.
//
// Invariants:
//
//  1. A driver that has joined is passed each change of its line after the feed's revision, in
//     order. It gets that revision: what it had read before may be older, and then changes are
//     missing. (TestDriversKnowTheirLines)
//  2. All changes of a line at one revision are passed on at once.
//     (TestDriversKnowTheirLines)
//  3. If changes cannot be had any more, the drivers learn up to which revision they miss some.
//     (TestDriversKnowTheirLines)
//  4. What is passed on waits for no driver. (TestADriverThatIsLate)
//  5. What is passed on says how often the servers had gone back. If they go back once more, the
//     feed begins anew at a revision that was read afterwards. (TestServersThatGoBackAreNoticed,
//     TestChangesOfAnotherHistoryWait)
type feed struct {
	fleet  *membership
	source store.Source // what is watched
	only   *inbox       // of a part: the line's

	start chan struct{} // closed when rev is set
	other atomic.Int64  // the revision of the last answer that did not come by the watch
	news  chan struct{} // there was another one
	again chan struct{} // the servers have gone back
	done  chan struct{} // closed when run has ended

	mu    sync.Mutex
	rev   int64               // what was changed up to it was passed on; 0: no line was opened
	age   int64               // how often the servers had gone back then
	lines map[string][]*inbox // by their ID
	split *parts              // the lines' feeds, while the whole is refused
}

func newFeed(f *membership, source store.Source) *feed {
	return &feed{
		fleet: f, source: source,
		start: make(chan struct{}), news: make(chan struct{}, 1), again: make(chan struct{}, 1),
		done: make(chan struct{}), lines: make(map[string][]*inbox),
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// begin has what is changed after at be passed on, unless that has begun.
func (fd *feed) begin(at known) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.beginLocked(at)
}

func (fd *feed) beginLocked(at known) {
	if fd.rev == 0 {
		fd.rev, fd.age = at.rev, at.age
		close(fd.start)
	}
}

// join has the driver of in be passed the changes of its line. What is known is from before that.
func (fd *feed) join(in *inbox, at known) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.beginLocked(at)
	id := in.remote.ID()
	fd.lines[id] = append(fd.lines[id], in)
	in.miss(known{fd.age, fd.rev})
	if at.rev == line.Unread { // what was changed since, the driver does not need
		at = known{fd.age, fd.rev}
	}
	if fd.split != nil {
		fd.split.add(in, at)
	}
}

// leave ends what join has begun.
func (fd *feed) leave(in *inbox) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	id := in.remote.ID()
	all := slices.DeleteFunc(fd.lines[id], func(o *inbox) bool { return o == in })
	if fd.lines[id] = all; len(all) == 0 {
		delete(fd.lines, id)
	}
	if fd.split != nil {
		fd.split.drop(in)
	}
}

// heard is called with the revision of an answer that did not come by the watch. If the watch has
// not got there it may hang. If it is past that, the servers may have gone back.
func (fd *feed) heard(rev int64) {
	fd.other.Store(rev)
	signal(fd.news)
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.split != nil {
		for _, p := range fd.split.feeds {
			p.heard(rev)
		}
	}
}

// beginAgain is called when the servers have gone back.
func (fd *feed) beginAgain() {
	signal(fd.again)
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if fd.split != nil {
		for _, p := range fd.split.feeds {
			p.beginAgain()
		}
	}
}

// run passes changes on until ctx is done.
func (fd *feed) run(ctx context.Context) {
	defer close(fd.done)
	select {
	case <-fd.start:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		fd.goOn(ctx, fd.stream(ctx))
	}
}

// goOn waits until a server that works says which revision is the newest. If changes up to it
// cannot be had any more, the lines are read again.
func (fd *feed) goOn(ctx context.Context, compacted bool) {
	for ctx.Err() == nil {
		at := fd.known()
		age := fd.fleet.age.Load()
		now, err := fd.now(ctx)
		switch {
		case err == nil && age == at.age && now < at.rev:
			fd.fleet.wentBack(age)
			continue // what is the newest may be of before somebody else has noticed that
		case err == nil && (compacted || age != at.age):
			fd.skip(known{age, now})
			fallthrough
		case err == nil:
			if fd.only != nil {
				fd.only.readable()
			}
			return
		case isRefusal(err) && fd.only == nil:
			fd.apart(ctx)
			continue // where the whole was: what the parts have passed on is known then
		case isRefusal(err):
			fd.only.refuse(denial{err, true})
		}
		pause(ctx, fd.fleet.retryAfter(err))
	}
}

// now returns the newest revision, linearizably.
func (fd *feed) now(ctx context.Context) (rev int64, err error) {
	_, err = fd.fleet.patience.once(ctx, func(ctx context.Context) (err error) {
		rev, err = fd.source.Revision(ctx)
		return err
	})
	return rev, err
}

func (fd *feed) known() known {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	return known{fd.age, fd.rev}
}

// skip begins anew at what is known now.
func (fd *feed) skip(now known) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.rev, fd.age = now.rev, now.age
	for _, all := range fd.lines {
		for _, in := range all {
			in.miss(now)
		}
	}
}

// stream watches until the watch fails, and reports whether changes since were forgotten. It ends
// if who answers has not got where the feed was: it is late, or the servers have gone back. A watch
// of a server that hangs is silent. So it is asked for a sign of life if another answer had a
// revision at which the watch has not arrived, or if there was no news for long. One that has not
// begun has been asked, too.
func (fd *feed) stream(ctx context.Context) (compacted bool) {
	ctx, cancel := context.WithCancel(ctx)
	at := fd.known()
	if at.age != fd.fleet.age.Load() {
		cancel()
		return false
	}
	signs, arrived, ended := make(chan struct{}, 1), make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- fd.source.Watch(ctx, at.rev, signs, func(u store.Update) bool {
			if !fd.pass(u) {
				return false
			}
			signal(arrived)
			return true
		})
	}()
	end := func() bool {
		cancel()
		return errors.Is(<-ended, store.ErrCompacted) // nothing is passed on after that
	}
	quiet := time.NewTimer(fd.fleet.patience.limit())
	defer quiet.Stop()
	for asked := true; ; {
		select {
		case err := <-ended:
			cancel()
			return errors.Is(err, store.ErrCompacted)
		case <-arrived:
			asked = false
			quiet.Reset(3 * fd.fleet.ttl)
			continue
		case <-fd.news:
			if asked || fd.other.Load() == fd.known().rev {
				continue
			}
		case <-fd.again:
			return end()
		case <-quiet.C:
			if asked {
				return end()
			}
		}
		signal(signs)
		asked = true
		quiet.Reset(max(fd.fleet.ttl/6, fd.fleet.patience.limit()))
	}
}

// pass passes on what the watch has brought. It reports false if that is less than was known.
func (fd *feed) pass(u store.Update) bool {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	if u.Rev < fd.rev {
		return false
	}
	if len(u.Events) > 0 {
		fd.passLocked(u)
	}
	fd.rev = u.Rev
	return true
}

// passLocked passes on what was changed. The end of a lease concerns many lines at once.
func (fd *feed) passLocked(u store.Update) {
	slices.SortFunc(u.Events, func(a, b store.Event) int { return cmp.Compare(a.Line, b.Line) })
	for events := u.Events; len(events) > 0; {
		n := slices.IndexFunc(events, func(e store.Event) bool { return e.Line != events[0].Line })
		if n < 0 {
			n = len(events)
		}
		for _, in := range fd.lines[events[0].Line] {
			in.pass(known{fd.age, u.Rev}, events[:n])
		}
		events = events[n:]
	}
}

// Parts are feeds of one line each. They are for a role that covers single lines: the store then
// refuses the watch of all. They cost a stream a line, as the guide says.
type parts struct {
	whole   *feed
	ctx     context.Context //nolint:containedctx // of all of them
	feeds   map[*inbox]*feed
	stops   map[*inbox]context.CancelFunc
	running sync.WaitGroup
}

// apart has each line have a feed of its own, until the whole is not refused any more.
func (fd *feed) apart(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &parts{whole: fd, ctx: ctx, feeds: make(map[*inbox]*feed), stops: make(map[*inbox]context.CancelFunc)}
	fd.mu.Lock()
	fd.split = p
	for _, all := range fd.lines {
		for _, in := range all {
			p.add(in, known{fd.age, fd.rev})
		}
	}
	fd.mu.Unlock()
	for ctx.Err() == nil {
		pause(ctx, 4*fd.fleet.ttl)
		if _, err := fd.now(ctx); err == nil {
			break
		}
	}
	fd.mu.Lock()
	fd.split = nil
	for _, all := range fd.lines {
		for _, in := range all {
			in.readable()
		}
	}
	fd.mu.Unlock()
	cancel()
	p.running.Wait()
}

// add starts the feed of a line after what is known. The lock of the whole is held.
func (p *parts) add(in *inbox, at known) {
	one := newFeed(p.whole.fleet, in.remote)
	one.only = in
	one.join(in, at)
	ctx, stop := context.WithCancel(p.ctx)
	p.feeds[in], p.stops[in] = one, stop
	p.running.Go(func() { one.run(ctx) })
}

func (p *parts) drop(in *inbox) {
	if stop := p.stops[in]; stop != nil {
		stop()
	}
	delete(p.feeds, in)
	delete(p.stops, in)
}
