//go:build !interleave

package observe_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

var bg = context.Background()

// lockNamed returns the lock with a name.
func lockNamed(t *testing.T, name string) observe.Lock {
	t.Helper()
	for _, l := range observe.Read().Locks {
		if l.Name == name {
			return l
		}
	}
	require.Failf(t, "no lock", "%s", name)
	return observe.Lock{}
}

// costs returns what the sites of a lock have cost, by function, with what is held now.
func costs(l observe.Lock) (delay, blame map[string]time.Duration) {
	delay, blame = map[string]time.Duration{}, map[string]time.Duration{}
	add := func(stack observe.Stack, d, b time.Duration) {
		text := stack.String()
		text, _, _ = strings.Cut(text[strings.LastIndexByte(text[:strings.IndexByte(text, ' ')], '.')+1:], " ")
		delay[text] += d
		blame[text] += b
	}
	for _, s := range l.Sites {
		add(s.Stack, s.Delay, s.Blame)
	}
	for _, h := range l.Holders {
		add(h.Stack, 0, h.Blame)
	}
	return delay, blame
}

//go:noinline
func slowHolder(s *semaphore.Semaphore, n int64, d time.Duration) {
	_ = s.Acquire(bg, n)
	time.Sleep(d)
	s.Release(n)
}

//go:noinline
func quickHolder(s *semaphore.Semaphore, d time.Duration) {
	_ = s.Acquire(bg, 1)
	time.Sleep(d)
	s.Release(1)
}

//go:noinline
func patient(s *semaphore.Semaphore, n int64) {
	_ = s.Acquire(bg, n)
	s.Release(n)
}

// Each permit that is held is to blame for the same part of the waits meanwhile.
func TestHoldersAreToBlameForTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(4)
		observe.Watch(s, t.Name(), observe.LevelHolders)
		defer observe.Watch(s, "", observe.LevelOff)
		go slowHolder(s, 3, 10*time.Second)
		time.Sleep(time.Second)
		go quickHolder(s, 4*time.Second) // until 5 s
		time.Sleep(time.Second)
		go patient(s, 2) // from 2 s
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, blame := costs(lockNamed(t, t.Name()))
		require.InDelta(t, 1500*time.Millisecond, blame["slowHolder"], 1000, "3 of 4 permits, until now")
		require.InDelta(t, 500*time.Millisecond, blame["quickHolder"], 1000)
		time.Sleep(time.Minute)
		synctest.Wait()
		delay, blame := costs(lockNamed(t, t.Name()))
		require.InDelta(t, 8*time.Second, delay["patient"], 1000, "until 10 s")
		require.Zero(t, delay["slowHolder"])
		require.InDelta(t, 2250*time.Millisecond+5*time.Second, blame["slowHolder"], 1000, "from 5 s alone")
		require.InDelta(t, 750*time.Millisecond, blame["quickHolder"], 1000)
		for _, site := range lockNamed(t, t.Name()).Sites {
			require.Equal(t, uint64(1), site.Holds)
			require.Zero(t, site.Handed)
		}
	})
}

func TestSitesSayWhoseHoldsOthersRelease(t *testing.T) {
	s := semaphore.New(1)
	observe.Watch(s, t.Name(), observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	require.NoError(t, s.Acquire(bg, 1))
	done := make(chan struct{})
	go func() { s.Release(1); close(done) }()
	<-done
	sites := lockNamed(t, t.Name()).Sites
	require.Len(t, sites, 1)
	require.Equal(t, uint64(1), sites[0].Handed)
	require.Equal(t, uint64(1), sites[0].Holds)
}

// The sum of all blame is the sum of all delays, whichever waiters come and go.
func TestAllDelayIsBlamedOnSomebody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := semaphore.New(5)
		observe.Watch(s, t.Name(), observe.LevelHolders)
		defer observe.Watch(s, "", observe.LevelOff)
		for i := range 200 {
			go func() {
				time.Sleep(time.Duration(i*i%97) * time.Millisecond)
				slowHolder(s, int64(i%5+1), time.Duration(i%13+1)*time.Millisecond)
			}()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		var delay, blame time.Duration
		for _, site := range lockNamed(t, t.Name()).Sites {
			delay += site.Delay
			blame += site.Blame
		}
		require.Positive(t, delay)
		require.InEpsilon(t, delay, blame, 1e-6)
	})
}

// What waits for a signal is in nobody's way.
func TestWaitsForASignalAreNoContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		c := sync.NewCond(&mu)
		observe.Watch(c, t.Name(), observe.LevelHolders)
		defer observe.Watch(c, "", observe.LevelOff)
		go func() {
			mu.Lock()
			c.Wait()
			mu.Unlock()
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		var b bytes.Buffer
		require.NoError(t, observe.Read().WriteProfile(&b, "farad_wait"))
		p, err := profile.Parse(&b)
		require.NoError(t, err)
		for _, sample := range p.Sample {
			require.NotContains(t, sample.Label["lock"], t.Name())
		}
		c.Signal()
		synctest.Wait()
		require.Empty(t, lockNamed(t, t.Name()).Sites)
	})
}

func TestGoToolPprofNamesWhoIsToBlame(t *testing.T) {
	if !locktest.Stress() {
		t.Skip("the go command builds pprof first")
	}
	s := semaphore.New(1)
	observe.Watch(s, t.Name(), observe.LevelHolders)
	defer observe.Watch(s, "", observe.LevelOff)
	begun, ended := make(chan struct{}), make(chan struct{})
	require.NoError(t, s.Acquire(bg, 1))
	go func() { close(begun); patient(s, 1); close(ended) }()
	<-begun
	time.Sleep(20 * time.Millisecond)
	file := filepath.Join(t.TempDir(), "farad_wait")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, observe.Read().WriteProfile(f, "farad_wait"))
	require.NoError(t, f.Close())
	s.Release(1)
	<-ended
	top := func(column string) string {
		out, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index="+column, "-tagfocus=lock="+t.Name(), file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Regexp(t, `100% .*\.patient\n`, top("delay"))
	require.Regexp(t, `100% .*TestGoToolPprofNamesWhoIsToBlame\n`, top("blame"))
}

// Waits are regions of the execution trace.
func TestWaitsAreTraced(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("somebody traces already")
	}
	s := semaphore.New(1)
	observe.Watch(s, "a traced lock", observe.LevelCounts)
	defer observe.Watch(s, "", observe.LevelOff)
	var b bytes.Buffer
	require.NoError(t, trace.Start(&b))
	require.NoError(t, s.Acquire(bg, 1))
	ended := make(chan struct{})
	go func() { patient(s, 1); close(ended) }()
	for s.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Release(1)
	<-ended
	trace.Stop()
	text, err := io.ReadAll(&b)
	require.NoError(t, err)
	require.Contains(t, string(text), "wait for a traced lock")
}
