package main

import (
	"context"
	"net/http/httptest"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

// The page of the observed locks, in a real browser, with real locks.

// An incident is two goroutines that wait for each other, others that wait for one of them, and a
// semaphore of whose permits none is free.
type incident struct {
	accounts, journal sync.Mutex
	db                *semaphore.Semaphore
	done              sync.WaitGroup
}

// startIncident starts an incident, and ends it when the test is over.
func startIncident(t *testing.T) *incident {
	t.Helper()
	i := &incident{db: semaphore.New(2)}
	observe.Watch(&i.accounts, "accounts", observe.LevelHolders)
	observe.Watch(&i.journal, "journal", observe.LevelHolders)
	observe.Watch(i.db, "db", observe.LevelHolders)
	t.Cleanup(func() {
		observe.Watch(i.db, "", observe.LevelOff)
		observe.Watch(&i.accounts, "", observe.LevelOff)
		observe.Watch(&i.journal, "", observe.LevelOff)
	})
	before := len(observe.Read().Deadlocks)
	ready := make(chan struct{})
	both := make(chan struct{})
	i.start(t, "/pay", func() { transfer(i, ready, both) })
	i.start(t, "/audit", func() { audit(i, ready, both) })
	<-ready
	<-ready
	close(both)
	for range 3 {
		i.start(t, "/report", func() {
			i.journal.Lock()
			defer i.journal.Unlock()
		})
	}
	require.NoError(t, i.db.Acquire(t.Context(), 2))
	for range 3 {
		i.start(t, "/cart", func() {
			if i.db.Acquire(t.Context(), 1) == nil {
				i.db.Release(1)
			}
		})
	}
	require.Eventually(t, func() bool {
		s, waiting := observe.Read(), 0
		for _, l := range s.Locks {
			waiting += l.Waiting
		}
		return len(s.Deadlocks) > before && waiting == 8
	}, 20*time.Second, 10*time.Millisecond)
	return i
}

func (i *incident) start(t *testing.T, path string, f func()) {
	i.done.Go(func() { pprof.Do(t.Context(), pprof.Labels("path", path), func(context.Context) { f() }) })
}

func transfer(i *incident, ready chan<- struct{}, both <-chan struct{}) {
	i.accounts.Lock()
	defer i.accounts.Unlock()
	ready <- struct{}{}
	<-both
	i.journal.Lock()
	defer i.journal.Unlock()
}

// audit locks the journal; the end of the incident unlocks it.
func audit(i *incident, ready chan<- struct{}, both <-chan struct{}) {
	i.journal.Lock()
	ready <- struct{}{}
	<-both
	i.accounts.Lock()
	defer i.accounts.Unlock()
}

// end releases what the deadlock waits for.
func (i *incident) end() {
	i.db.Release(2)
	i.journal.Unlock()
	i.done.Wait()
}

// sound returns the problems of a page that has a script of its own.
func sound(problems []string) (others []string) {
	for _, p := range problems {
		if !strings.HasPrefix(p, "script: 1 ") {
			others = append(others, p)
		}
	}
	return others
}

// eval runs a script in a page.
func eval[T any](t *testing.T, tab context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	require.NoError(t, err, script)
	return v
}

// becomes waits until a script returns true.
func becomes(t *testing.T, tab context.Context, script string) {
	t.Helper()
	require.Eventually(t, func() bool {
		is, err := chromedp.Run(tab, chromedp.Evaluate[bool](script))
		return is && err == nil // between two pages nothing runs
	}, 30*time.Second, 50*time.Millisecond, script)
}

// pause holds a page still, so that all of it can be looked at, or lets it go on.
func pause(t *testing.T, tab context.Context) {
	t.Helper()
	eval[bool](t, tab, `document.querySelector("#live button").click() || true`)
}

func TestObservePageInABrowser(t *testing.T) {
	browser := startBrowser(t)
	i := startIncident(t)
	server := httptest.NewServer(observe.Handler())
	defer server.Close()

	for _, s := range screens {
		t.Run("locks/"+s.name, func(t *testing.T) {
			tab, problems := open(t, browser, s, server.URL+"/")
			becomes(t, tab, `document.querySelector("#live").dataset.state === "live"`)
			pause(t, tab)
			l := lookAt(t, tab, s, problems)
			require.Empty(t, sound(l.Problems))
			require.Equal(t, "bench.test: locks", l.Title)
			for _, want := range []string{"Deadlocks waits that nothing can end", "Locks held", "Who waits for whom"} {
				require.Contains(t, strings.Join(l.Headings, "\n"), want)
			}
			require.NotEmpty(t, l.Plots)
			require.Equal(t, 4, l.Tables[0].Rows)
			for _, want := range []string{
				"accounts", "journal", "saturated", "Nothing can end these 2 waits",
				"bench.transfer", "bench.audit", "observe_browser_test.go",
			} {
				require.True(t, eval[bool](t, tab, `document.body.innerText.includes("`+want+`")`), want)
			}
		})
	}
	for _, s := range screens[1:3] {
		t.Run("lock/"+s.name, func(t *testing.T) {
			tab, problems := open(t, browser, s, server.URL+"/")
			eval[bool](t, tab,
				`[...document.querySelectorAll("td.name a")].find(a => a.textContent === "journal").click() || true`)
			becomes(t, tab,
				`document.querySelector("h1")?.textContent === "journal" && document.querySelector("#live").dataset.state === "live"`)
			eval[bool](t, tab, `document.querySelectorAll("details").forEach(d => d.open = true) || true`)
			pause(t, tab)
			l := lookAt(t, tab, s, problems)
			require.Empty(t, sound(l.Problems))
			for _, want := range []string{"Holders by stack", "Waiters by stack", "Lately"} {
				require.Contains(t, strings.Join(l.Headings, "\n"), want)
			}
			for _, want := range []string{"3 goroutines", "path=/report"} {
				require.True(t, eval[bool](t, tab, `document.body.innerText.includes("`+want+`")`), want)
			}
		})
	}

	t.Run("without JavaScript", func(t *testing.T) {
		tab, problems := open(t, browser, screens[0], soundPageWith(t, ""))
		_, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, err)
		require.NoError(t, chromedp.Do(tab, chromedp.Navigate(server.URL+"/?sort=name")))
		require.Equal(t, "Reload", eval[string](t, tab, `document.querySelector("#live").innerText.trim()`))
		require.Equal(t, 3, eval[int](t, tab, `document.querySelectorAll("#locks tbody tr").length`))
		require.Equal(t, "Lock", eval[string](t, tab, `document.querySelector("th[aria-sort]").innerText`))
		eval[bool](t, tab,
			`document.querySelector("details").open || document.querySelector("summary").click() || true`)
		becomes(t, tab, `document.querySelector("details").open`)
		require.Len(t, problems(), 1) // the page itself, which is not the one that was open before
	})

	t.Run("live", func(t *testing.T) {
		tab, problems := open(t, browser, screens[2], server.URL+"/")
		becomes(t, tab, `document.querySelector("#live").dataset.state === "live"`)
		eval[bool](t, tab,
			`(window.mark = document.querySelector("#lock-" + document.querySelector("td.name a").href.split("=")[1])) !== null`)
		eval[bool](t, tab, `(document.querySelector("details").open = true)`)
		const verdict = `document.querySelector(".verdict").innerText`
		at := eval[string](t, tab, verdict)
		becomes(t, tab, verdict+` !== `+strconv.Quote(at))
		require.True(t, eval[bool](t, tab, `document.querySelector("details").open && window.mark.isConnected`),
			"what the reader did stays")

		pause(t, tab)
		require.Equal(t, "paused", eval[string](t, tab, `document.querySelector("#live").dataset.state`))
		i.end()
		pause(t, tab)
		becomes(t, tab, `!document.querySelector(".card.bad") && document.body.innerText.includes("earlier deadlock")`)
		require.True(t, eval[bool](t, tab, `window.mark.isConnected`))
		require.Empty(t, problems())
	})
}
