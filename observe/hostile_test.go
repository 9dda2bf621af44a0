package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// Pages are bounded, but never by the lock that was asked for: it would be reported as gone.
func TestALockIsShownHoweverManyHaveMoreTrouble(t *testing.T) {
	locktest.SkipSequential(t)
	s := crowd()
	all := newView(s).Locks
	least := all[len(all)-1]
	least.Name = "the least trouble"
	least.Holders = []Holder{{ID: 5, Agent: Agent{Task: 77, Name: "holds"}, Permits: 1, Since: shopTime}}
	for _, format := range []string{"", "text", "json"} {
		r := get(t, s, "GET", fmt.Sprintf("lock=%d&format=%s", least.ID, format))
		require.Equal(t, http.StatusOK, r.StatusCode, format)
		text := body(t, r)
		require.Contains(t, text, "the least trouble")
		require.Contains(t, text, "77", "and who holds it")
	}
	h := newHandler(func() *Snapshot { return s }, &history{})
	_, status := h.render("events", least.ID, "")
	require.Equal(t, http.StatusOK, status)
}

func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	for _, query := range []string{
		"lock=%zz", "lock=1;format=json", "format=json;", "%", "lock=1&sort=%f", "profile=%2", "lock=18446744073709551616",
		"lock=1e3", "lock=+1", "lock=0x1", "format=JSON", "format=events%00", "profile=farad_held%0d%0aX:%20y",
		strings.Repeat("a&", 20_000),
	} {
		r := get(t, shop(), "GET", query)
		require.Equal(t, http.StatusBadRequest, r.StatusCode, query)
		require.Contains(t, r.Header.Get("Content-Type"), "text/plain")
		require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		require.NotContains(t, body(t, r), "X: y")
	}
}

func TestTheLargestNumbersAreShown(t *testing.T) {
	s := &Snapshot{At: shopTime, Locks: []Lock{{
		ID: math.MaxUint64, Name: "all", Kind: "semaphore.Semaphore", Level: LevelHolders, Size: math.MaxInt64,
		Held: math.MaxInt64, Waiting: math.MaxInt, Peak: math.MaxInt, Unknown: math.MaxInt64,
		Counts: Counts{Acquired: math.MaxUint64, Contended: math.MaxUint64, Closed: math.MaxUint64},
		Wait:   Histogram{Count: math.MaxUint64, Sum: math.MaxInt64},
		Holders: []Holder{{
			ID: math.MaxUint64, Agent: Agent{Goroutine: math.MaxUint64}, Permits: math.MaxInt64, Since: time.Time{},
		}},
	}}}
	for _, query := range []string{"", "lock=18446744073709551615"} {
		for _, format := range []string{"", "text", "dot", "json"} {
			r := get(t, s, "GET", query+"&format="+format)
			require.Equal(t, http.StatusOK, r.StatusCode)
			text := body(t, r)
			require.Empty(t, regexp.MustCompile(`-9\d{18}|\bNaN\b|\bInf\b`).FindString(text), format)
		}
	}
	// A number of waiters is an int, of 32 bits on some platforms.
	waiting := map[bool]string{true: "9.22E", false: "2.15G"}[math.MaxInt == math.MaxInt64]
	text := sparkline([]sample{{held: math.MaxInt64, waiting: math.MaxInt}}, 1, 90, 24).Text
	require.Equal(t, "in 0s at most 9.22E held and "+waiting+" waiting", text)
}

func TestATextThatWasCutSaysSo(t *testing.T) {
	for _, c := range []string{"a", "é", "語", "🔒", "\x00", "\xff"} {
		require.True(t, strings.HasSuffix(clean(strings.Repeat(c, 5), 4), "…"), "%q", c)
		require.False(t, strings.HasSuffix(clean(strings.Repeat(c, 4), 4), "…"), "%q", c)
	}
}

// named is a snapshot all of whose texts come from a function.
func named(name func() string) *Snapshot {
	s := shop()
	agent := func(a *Agent) {
		if rand.IntN(2) == 0 {
			a.Task, a.Name = a.Goroutine, name()
		}
		a.Labels = map[string]string{name(): name()}
	}
	for i := range s.Locks {
		l := &s.Locks[i]
		l.Name, l.Kind = name(), name()
		for j := range l.Holders {
			agent(&l.Holders[j].Agent)
			l.Holders[j].Key = name()
		}
		for j := range l.Waiters {
			agent(&l.Waiters[j].Agent)
			l.Waiters[j].Tenant = name()
		}
	}
	for i := range s.Deadlocks[0].Waits {
		b := &s.Deadlocks[0].Waits[i]
		b.Lock, b.Kind, b.Waiter.Key = name(), name(), name()
		agent(&b.Waiter.Agent)
	}
	for i := range s.Tasks {
		x := &s.Tasks[i]
		x.Executor, x.Name, x.Spawned, x.State, x.WaitsFor = name(), name(), name(), name(), name()
	}
	for i := range s.Suspicions {
		x := &s.Suspicions[i]
		x.Why, x.Lock, x.Text = Reason(name()), name(), name()
	}
	for i := range s.Leaks {
		s.Leaks[i].Lock, s.Leaks[i].Kind = name(), name()
		agent(&s.Leaks[i].Agent)
	}
	s.Panics[0].Task, s.Panics[0].Value, s.Panics[0].Stack = name(), name(), name()+"\n"+name()
	return s
}

// requireHarmless fails if a text of the snapshot means anything in a format.
func requireHarmless(t *testing.T, s *Snapshot) {
	t.Helper()
	for _, query := range []string{"", "lock=1"} {
		page := body(t, get(t, s, "GET", query))
		require.True(t, utf8.ValidString(page))
		n := elements(t, page)
		require.Equal(t, 1, n["script"])
		require.Zero(t, n["evil"]+n["img"])
		for _, format := range []string{"text", "dot"} {
			text := body(t, get(t, s, "GET", query+"&format="+format))
			require.True(t, utf8.ValidString(text))
			for _, r := range text {
				require.True(t, r == '\n' || r == '\t' && format == "dot" || unicode.IsPrint(r), "%q in %s", r, format)
			}
			if format == "dot" {
				bare := regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(text, "")
				require.NotContains(t, bare, "evil")
				require.NotContains(t, bare, `"`)
				continue
			}
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), textWidth)
			}
		}
		var back Snapshot
		require.NoError(t, json.Unmarshal([]byte(body(t, get(t, s, "GET", query+"&format=json"))), &back))
	}
	b, status := newHandler(func() *Snapshot { return s }, &history{}).render("events", 0, "name")
	require.Equal(t, http.StatusOK, status)
	e := event(b)
	require.NotContains(t, string(e), "\r", "it would end a line of an event")
	for line := range strings.SplitSeq(strings.TrimSuffix(string(e), "\n\n"), "\n") {
		require.True(t, strings.HasPrefix(line, "data: "), line)
	}
	for _, name := range []string{"farad_held", "farad_wait"} {
		r := get(t, s, "GET", "profile="+name)
		require.Equal(t, "application/octet-stream", r.Header.Get("Content-Type"))
		p, err := profile.Parse(r.Body)
		require.NoError(t, err)
		require.NoError(t, p.CheckValid())
	}
}

// What others have named does nothing in any format, whatever it is made of.
func TestNamesOfAllKindsAreHarmless(t *testing.T) {
	locktest.SkipSequential(t)
	pieces := []string{
		"<script>", "</script>", "</main>", "<evil>", "<img src=x onerror=1>", "<!--", "-->", "]]>", "<![CDATA[", "&lt;", "&#0;",
		"javascript:evil", "{{.}}", "\"", "'", "`", "\\", "\\\"", "\\N", "\\G", "evil", "];", "->", "//", "/*", "*/", "#", "\n", "\r",
		"\r\n", "\n\ndata: evil", "event: evil\n", "\x00", "\x1b[2J", "\x1b]8;;evil\a", "\u009b", "\u202e", "\u2066", "\u2028",
		"\u2029", "\ufeff", "\u200b", "\u00ad", "\u0301", "\U000e0041", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\uffff",
		"🔒", "語", " ", "", "%", "%s%n", "%!d(x)", strings.Repeat("evil ", 200),
	}
	rounds := 20
	if locktest.Stress() {
		rounds = 500
	}
	for range rounds {
		requireHarmless(t, named(func() string {
			var b strings.Builder
			for range rand.IntN(6) {
				b.WriteString(pieces[rand.IntN(len(pieces))])
			}
			return b.String()
		}))
	}
}

// Names are as long as a program has memory. People see their beginnings.
func TestLongNamesMakeNoLongPages(t *testing.T) {
	locktest.SkipSequential(t)
	for _, c := range []string{"a", "\"><", "\x00", "語", "\xff", "\n", " "} {
		name := strings.Repeat(c, 1<<18/len(c))
		s := named(func() string { return name })
		for _, query := range []string{"", "lock=1", "format=text", "format=dot", "format=events"} {
			h := newHandler(func() *Snapshot { return s }, &history{})
			w := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a stream sends one event
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/?"+query, nil))
			require.Equal(t, http.StatusOK, w.Code)
			require.Less(t, w.Body.Len(), 1<<18, query)
		}
	}
}

// What fails in the middle of a page costs neither a stream nor the handler.
func TestAPanicOfAPageLeavesTheHandlerWhole(t *testing.T) {
	var calls atomic.Int64
	h := newHandler(func() *Snapshot {
		if calls.Add(1)%2 == 0 {
			panic("in the middle")
		}
		return shop()
	}, &history{})
	h.step = time.Nanosecond
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	for range maxStreams + 1 {
		for _, query := range []string{"?format=events", "?lock=1", "?profile=farad_held", "?format=json"} {
			r, err := http.Get(server.URL + query)
			if err != nil {
				continue
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	}
	require.Eventually(t, func() bool { return len(h.streams) == 0 }, 10*time.Second, time.Millisecond)
}

// pipes is a listener whose connections are pipes, so that time passes in a bubble.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { l.once.Do(func() { close(l.over) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (l *pipes) dial(t *testing.T, request string) net.Conn {
	t.Helper()
	one, other := net.Pipe()
	l.conns <- other
	_, err := io.WriteString(one, request)
	require.NoError(t, err)
	return one
}

// Clients that read nothing, or a byte now and then, keep their streams for a bounded time.
func TestAClientThatDoesNotReadLosesItsStream(t *testing.T) {
	const request = "GET /?format=events HTTP/1.1\r\nHost: x\r\n\r\n"
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(shop, &history{})
		server := &http.Server{Handler: h}
		l := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		var conns []net.Conn
		for range maxStreams / 2 {
			conns = append(conns, l.dial(t, request)) // reads nothing
			slow := l.dial(t, request)
			conns = append(conns, slow)
			go func() {
				for {
					time.Sleep(time.Second)
					if _, err := io.CopyN(io.Discard, slow, 1); err != nil {
						return
					}
				}
			}()
		}
		synctest.Wait()
		require.Len(t, h.streams, maxStreams)
		time.Sleep(patience + time.Second)
		synctest.Wait()
		require.Empty(t, h.streams)
		for _, c := range conns {
			_ = c.Close()
		}
		_ = server.Close()
		require.ErrorIs(t, <-done, http.ErrServerClosed)
		time.Sleep(time.Minute)
	})
}

// A stream that comes when the server is shutting down, because it was slow to get here, would keep
// it from ending.
func TestAStreamThatComesAfterTheShutdownEnds(t *testing.T) {
	h := newHandler(shop, &history{})
	here, enter := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") == "events" {
			close(here)
			<-enter
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	r, err := http.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if r, err := http.Get(server.URL + "?format=events"); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	}()
	<-here
	down := make(chan struct{})
	server.Config.RegisterOnShutdown(func() { close(down) })
	over := make(chan error, 1)
	go func() { over <- server.Config.Shutdown(context.WithoutCancel(t.Context())) }()
	<-down
	close(enter)
	select {
	case err := <-over:
		require.NoError(t, err)
		<-ended
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the stream keeps the server")
	}
}

// Every call of Shutdown runs the hooks of the server again.
func TestAServerMayShutDownTwice(t *testing.T) {
	h := newHandler(shop, &history{})
	server := httptest.NewServer(h)
	defer server.Close()
	lines := listen(t, t.Context(), server.URL+"?format=events", http.StatusOK)
	<-lines
	var hooks sync.WaitGroup
	hooks.Add(4)
	server.Config.RegisterOnShutdown(hooks.Done)
	server.Config.RegisterOnShutdown(hooks.Done)
	for range 2 {
		go func() { _ = server.Config.Shutdown(context.WithoutCancel(t.Context())) }()
	}
	for more := true; more; { // it ends
		_, more = <-lines
	}
	hooks.Wait()
	server.Close()
}

// permanent is a server that is no object of the heap.
var permanent http.Server

// A program may have many servers, one after the other. The handler keeps none of
// them.
func TestAHandlerKeepsNoServer(t *testing.T) {
	h := newHandler(shop, &history{})
	for i := range 10 {
		server := new(http.Server)
		if i == 0 {
			server = &permanent
		}
		ctx := context.WithValue(t.Context(), http.ServerContextKey, server)
		require.NotNil(t, h.shutdown(ctx))
		require.Equal(t, h.shutdown(ctx), h.shutdown(ctx))
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.servers) == 1 // the one that lasts
	}, time.Minute, time.Millisecond)
}

// Many clients at once do anything, and go away at any time.
func TestManyClientsLeaveNothingBehind(t *testing.T) {
	var taken atomic.Int64
	s := shop()
	h := newHandler(func() *Snapshot { taken.Add(1); return s }, &history{})
	h.step = time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	rounds := 100
	if !locktest.Stress() {
		rounds = 15
	}
	var all sync.WaitGroup
	for range 2 * maxStreams {
		all.Go(func() {
			for range rounds {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(20_000))*time.Microsecond)
				query := append([]string{"format=events", "format=events&lock=1", "format=events&lock=99"}, queries...)
				method := []string{"GET", "GET", "GET", "HEAD", "POST", "CONNECT"}[rand.IntN(6)]
				path := []string{"", "/", "/..%2f", "//evil/", "/%00"}[rand.IntN(5)]
				r, err := http.NewRequestWithContext(ctx, method, server.URL+path+"?"+query[rand.IntN(len(query))],
					bytes.NewReader(make([]byte, rand.IntN(2)*100_000)))
				if err == nil {
					if response, err := http.DefaultClient.Do(r); err == nil {
						_, _ = io.CopyN(io.Discard, response.Body, rand.Int64N(1<<16))
						_ = response.Body.Close()
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return len(h.streams) == 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, http.StatusOK, get(t, s, "GET", "").StatusCode)
	require.Positive(t, taken.Load())
}
