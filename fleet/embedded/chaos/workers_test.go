//go:build linux

package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Faults of one worker. When they end, another one has had what it had.
var workerFaults = []fault{
	{"a worker paused", func(r *run) { r.pause(r.anyWorker(), r.anyLock()) }},
	{"a worker killed", func(r *run) {
		r.killInside(r.anyWorker(), r.anyLock())
		r.start()
	}},
	{"a worker killed with a member", func(r *run) {
		i := r.anyMember()
		require.NoError(r, r.cluster.Kill(i))
		r.killInside(r.anyWorker(), r.anyLock())
		r.start()
		require.NoError(r, r.cluster.Restart(patient(r.T), i))
	}},
	{"a clock set forward", func(r *run) { r.jump(r.anyWorker(), time.Hour) }},
	{"a clock set back", func(r *run) { r.jumpBack(r.anyWorker()) }},
}

// pause pauses a worker between its look at the permits and its write, until another one has them.
func (r *run) pause(w *process, lock string) {
	op, trap := r.resource.catch(w.id, lock)
	require.NoError(r, w.Pause())
	r.awaitSuperseded(op)
	close(trap.open)
	require.NoError(r, w.Resume())
}

// killInside kills a worker that holds a lock. It returns how long others waited for what it had.
func (r *run) killInside(w *process, lock string) time.Duration {
	op, trap := r.resource.catch(w.id, lock)
	at := r.kill(w)
	close(trap.open)
	r.awaitSuperseded(op)
	took := now() - at
	r.Logf("%s: the permits are back after %.3f s", lock, took.Seconds())
	return took
}

func (r *run) awaitSuperseded(op Act) {
	r.Helper()
	await(r.T, "another has the permits", func() bool { return r.resource.superseded(op) })
}

// jump sets the clock of a worker forward, by much more than the TTL, while it holds something. It
// then takes its lease for lost.
func (r *run) jump(w *process, by time.Duration) {
	op, trap := r.resource.catch(w.id, r.anyLock())
	r.resource.look(func() { r.resource.skew[w.id] += by })
	close(trap.open)
	await(r.T, "another lease", func() (is bool) {
		r.resource.look(func() {
			for _, o := range r.resource.locks[op.Lock].ops {
				is = is || o.Worker == w.id && o.Token.Lease != op.Token.Lease && o.Token.Rev > op.Token.Rev
			}
		})
		return is
	})
}

// jumpBack sets the clock of a worker back, and cuts it off: it must notice that time passes.
func (r *run) jumpBack(w *process) {
	r.resource.look(func() { r.resource.skew[w.id] -= time.Hour })
	op, trap := r.resource.catch(w.id, r.anyLock())
	w.link.Cut()
	close(trap.open)
	r.awaitSuperseded(op)
	w.link.Heal()
}

// A resource that checks tokens is safe from a worker that was paused. One that does not is not.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	r := newRun(t, 4, everything...)
	for _, lock := range r.locks {
		r.pause(r.anyWorker(), lock)
		r.allServed("after a pause in " + lock)
		if testing.Short() {
			break
		}
	}
	r.finish(expectation{overlaps: true})
}

// The permits of a worker that is killed come back when its lease has ended.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	r := newRun(t, 3, everything...)
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	r.soon(rounds, ttl+time.Second, func(i int) time.Duration {
		took := r.killInside(r.anyWorker(), r.locks[i%len(r.locks)])
		r.start()
		return took
	})
	r.finish(calm)
}

// The new leader lets all leases begin again.
func TestKilledHolderAndLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one)
	r.soon(2, ttl+3*time.Second, func(int) time.Duration {
		leader := r.leader()
		w := r.anyWorker()
		op, trap := r.resource.catch(w.id, one)
		at := r.kill(w)
		require.NoError(t, r.cluster.Kill(leader))
		close(trap.open)
		r.awaitSuperseded(op)
		took := now() - at
		t.Logf("the permits are back after %.3f s", took.Seconds())
		r.start()
		require.NoError(t, r.cluster.Restart(patient(t), leader))
		return took
	})
	r.finish(calm)
}

// Each new leader lets all leases begin again, also that of a holder which died long before. So it
// is the last leader's death that counts.
func TestLeadersDieBeforeALeaseEnds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one)
	r.soon(1, ttl+3*time.Second, func(int) time.Duration {
		w := r.anyWorker()
		op, trap := r.resource.catch(w.id, one)
		at := r.kill(w)
		close(trap.open)
		var last time.Duration
		for range 2 {
			await(t, "the lease is about to end", func() bool {
				l, err := r.client.TimeToLive(patient(t), clientv3.LeaseID(op.Token.Lease))
				require.NoError(t, err)
				return l.TTL <= 1
			})
			leader := r.leader()
			last = now()
			require.NoError(t, r.cluster.Kill(leader))
			r.leader() // another one
			require.NoError(t, r.cluster.Restart(patient(t), leader))
		}
		r.awaitSuperseded(op)
		t.Logf("the permits are back after %.3f s, %.3f s after the last leader has died",
			(now() - at).Seconds(), (now() - last).Seconds())
		r.start()
		return now() - last
	})
	r.finish(calm)
}

// soon calls f for some rounds, and more until it has once taken no longer than limit: the machine
// may be busy at times.
func (r *run) soon(rounds int, limit time.Duration, f func(int) time.Duration) {
	best := time.Duration(1<<63 - 1)
	for i := 0; i < rounds || best > limit && i < 10; i++ {
		best = min(best, f(i))
		r.allServed("after a round")
	}
	require.LessOrEqual(r, best, limit)
}

func TestClocksJump(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, everything...)
	w := r.anyWorker()
	r.jump(w, time.Hour)
	r.allServed("after a jump forward")
	r.jumpBack(w)
	r.allServed("after a jump back")
	r.jumpBack(w)
	r.allServed("after another one, into the past")
	r.finish(calm)
}

// Who deletes an entry takes permits away without a warning. The holder notices at once, but not
// before others have them.
func TestOperator(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	r := newRun(t, 3, one, several, mutex, rwMutex)
	for _, lock := range []string{one, mutex} {
		op, trap := r.resource.catch(r.anyWorker().id, lock)
		_, err := r.client.Delete(patient(t), r.key(lock, fmt.Sprintf("q/%016x/", op.Token.Lease)), clientv3.WithPrefix())
		require.NoError(t, err)
		r.awaitSuperseded(op)
		close(trap.open)
		r.allServed("after a deletion in " + lock)
	}
	for _, lock := range []string{several, rwMutex} {
		for range 10 {
			_, err := r.client.Delete(patient(t), r.key(lock, "q/"), clientv3.WithPrefix())
			require.NoError(t, err)
		}
		r.allServed("after deletions in " + lock)
	}
	for _, size := range []string{"3", "1", "0", "rubbish", "", "4"} { // never more than the resource allows
		_, err := r.client.Put(patient(t), r.key(several, "size"), size)
		require.NoError(t, err)
		if n, _ := strconv.ParseInt(size, 10, 64); n == 3 {
			r.allServed("with a size of " + size)
		}
	}
	r.allServed("after a change of the size")
	_, err := r.client.Delete(patient(t), r.key(several, "size"))
	require.NoError(t, err)
	_, err = r.client.Put(patient(t), r.key(several, "size"), strconv.FormatInt(sizes[several], 10))
	require.NoError(t, err)
	r.allServed("after a deletion of the size")
	r.finish(expectation{full: true})
}

// All kinds of faults, in random order: six, or all of them again and again for as long as stress
// says, each time with another cluster. A round that fails has printed the seed that repeats it.
func TestAnythingFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip()
	}
	all := slices.Concat(memberFaults, partitions, quorumFaults, workerFaults)
	began := time.Now()
	end := began.Add(stress())
	const round = 5 * time.Minute // the last one begins before end
	if at, ok := t.Deadline(); ok && stress() > 0 && at.Before(end.Add(round)) {
		t.Fatalf("this takes -timeout %v", stress()+2*round)
	}
	for i := 0; i == 0 || time.Now().Before(end); i++ {
		ok := t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := newRun(t, 3, everything...)
			faults := slices.Clone(all)
			r.random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
			if stress() == 0 {
				faults = faults[:6]
			}
			r.fail(faults)
			r.finish(expectation{})
		})
		if !ok {
			return
		}
		t.Logf("%d rounds in %v", i+1, time.Since(began).Round(time.Second))
	}
}
