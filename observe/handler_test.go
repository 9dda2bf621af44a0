package observe

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

var serve = flag.String("serve", "", "an address, to look at the page of the tests in a browser")

func TestServe(t *testing.T) {
	if *serve == "" {
		t.Skip("-serve is not set")
	}
	mux := http.NewServeMux()
	for path, snapshot := range map[string]func() *Snapshot{
		"/": shop, "/crowd": crowd, "/hostile": hostile,
		"/empty": func() *Snapshot { return &Snapshot{At: shopTime} },
		"/knot": func() *Snapshot {
			return around([2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{2, 3}, [2]uint64{3, 1}, [2]uint64{4, 1},
				[2]uint64{0, 4})
		},
	} {
		past := &history{}
		pastOf(past, snapshot)
		mux.Handle(path, newHandler(snapshot, past))
	}
	t.Fatal(http.ListenAndServe(*serve, mux))
}

// pastOf fills a history with what the locks may have been before a snapshot.
func pastOf(past *history, snapshot func() *Snapshot) {
	for i := range historyLength - 1 {
		s := snapshot()
		s.At = s.At.Add(-historyStep * time.Duration(historyLength-1-i))
		for j := range s.Locks {
			l := &s.Locks[j]
			wave := (1 + math.Sin(float64(i*(j+3))/17)) / 2
			if limit := (&lockView{Lock: l}).limits(); i < 40 || limit {
				l.Held = int64(wave * float64(l.Held))
				l.Waiting = int(wave * wave * float64(l.Waiting))
			}
			l.Counts.Acquired -= min(l.Counts.Acquired, uint64((historyLength-i)*(1+int(wave*10))))
		}
		past.add(s)
	}
}

// get asks a handler that shows a snapshot.
func get(t *testing.T, s *Snapshot, method, query string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	newHandler(func() *Snapshot { return s }, &history{}).ServeHTTP(w, httptest.NewRequest(method,
		"/locks?"+query, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

var queries = []string{
	"", "format=text", "format=json", "format=dot", "sort=name", "lock=1", "lock=1&format=text", "lock=1&format=json",
	"lock=1&format=dot", "sort=what", "profile=farad_held", "profile=farad_wait",
}

func TestPageAnswersReadersOnly(t *testing.T) {
	for _, query := range queries {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "WHAT"} {
			r := get(t, shop(), method, query)
			require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
			require.Equal(t, "GET, HEAD", r.Header.Get("Allow"))
		}
		for _, method := range []string{"GET", "HEAD"} {
			r := get(t, shop(), method, query)
			require.Equal(t, http.StatusOK, r.StatusCode, query)
			require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
			require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
			require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'")
		}
	}
	for query, want := range map[string]int{
		"format=what": 400, "lock=x": 400, "lock=0": 400, "lock=-1": 400, "profile=heap": 400, "lock=77": 404, "lock=77&format=json": 404,
	} {
		r := get(t, shop(), "GET", query)
		require.Equal(t, want, r.StatusCode, query)
		require.Contains(t, r.Header.Get("Content-Type"), "text/plain")
	}
}

func TestPageChangesNothing(t *testing.T) {
	s := shop()
	for _, query := range queries {
		get(t, s, "GET", query)
	}
	require.Equal(t, shop(), s)
}

func TestPageAllowsItsOwnStyleAndScriptOnly(t *testing.T) {
	r := get(t, shop(), "GET", "")
	page := body(t, r)
	for tag, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		m := regexp.MustCompile("(?s)<"+tag+">(.*?)</"+tag+">").FindAllStringSubmatch(page, -1)
		require.Len(t, m, 1, tag)
		require.Contains(t, r.Header.Get("Content-Security-Policy"), directive+" '"+hash(m[0][1])+"';")
	}
	require.NotRegexp(t, `(?i)\bstyle=|\son\w+=|https?://[^w]`, page, "nothing inline, and nothing from elsewhere")
}

// elements returns how many elements of each name a page has. It is well-formed XML but for the
// contents of its style and script.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</`).ReplaceAllString(page, "<$1></")
	d := xml.NewDecoder(strings.NewReader(page))
	count := make(map[string]int)
	for {
		token, err := d.Token()
		if err == io.EOF {
			return count
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
			for _, a := range e.Attr {
				require.False(t, strings.HasPrefix(a.Name.Local, "on"), a.Name.Local)
			}
		}
	}
}

func TestHostileNamesAreEscaped(t *testing.T) {
	for _, query := range []string{"", "lock=1"} {
		n := elements(t, body(t, get(t, hostile(), "GET", query)))
		require.Equal(t, 1, n["script"])
		require.Equal(t, 1, n["style"])
		require.Positive(t, n["svg"])
	}
	dot := body(t, get(t, hostile(), "GET", "format=dot"))
	require.NotContains(t, regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(dot, ""), "evil")
	var s Snapshot
	require.NoError(t, json.Unmarshal([]byte(body(t, get(t, hostile(), "GET", "format=json"))), &s))
	require.Contains(t, s.Locks[0].Name, "<script>")
}

func TestPageIsBounded(t *testing.T) {
	locktest.SkipSequential(t)
	s := crowd()
	for query, most := range map[string]int{
		"": 1 << 20, "format=text": 200_000, "format=dot": 200_000, "format=json": 16 << 20, "lock=1039": 200_000, "sort=name": 1 << 20,
	} {
		text := body(t, get(t, s, "GET", query))
		require.Less(t, len(text), most, query)
		require.NotEmpty(t, text)
	}
	page := body(t, get(t, s, "GET", ""))
	require.Contains(t, page, "The graph is too large to show.")
	require.Contains(t, page, "Nothing can end these 3 waits")
	require.Contains(t, page, "There was no room for")
	elements(t, page)
	var back Snapshot
	require.NoError(t, json.Unmarshal([]byte(body(t, get(t, s, "GET", "format=json"))), &back))
	require.Len(t, back.Locks, maxReadLocks)
	records := 0
	for _, l := range back.Locks {
		records += len(l.Holders) + len(l.Waiters)
	}
	require.Equal(t, maxReadRecords, records)
	require.Equal(t, uint64(len(s.Locks)-maxReadLocks), back.Dropped.Locks)
}

func TestJSONIsASnapshot(t *testing.T) {
	text := body(t, get(t, shop(), "GET", "format=json"))
	require.NotContains(t, text, "null,\n\t\"", "lists are never null")
	var got Snapshot
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	want := shop()
	again, err := json.Marshal(got.filled())
	require.NoError(t, err)
	for i := range want.Locks { // stacks are of this process
		l := &want.Locks[i]
		for j := range l.Holders {
			l.Holders[j].Stack = nil
		}
		for j := range l.Waiters {
			l.Waiters[j].Stack = nil
		}
	}
	for _, b := range want.Deadlocks[0].Waits {
		b.Holders[0].Stack = nil
	}
	for i := range want.Deadlocks[0].Waits {
		want.Deadlocks[0].Waits[i].Waiter.Stack = nil
	}
	for i := range want.Suspicions {
		for j := range want.Suspicions[i].Stacks {
			want.Suspicions[i].Stacks[j] = nil
		}
	}
	for i := range want.Leaks {
		want.Leaks[i].Stack = nil
	}
	text2, err := json.Marshal(want.filled())
	require.NoError(t, err)
	require.JSONEq(t, string(text2), string(again))
	require.Contains(t, text, `"Function": "github.com/farad-go/farad/observe.transfer"`)
}

// A stream sends the part of the page that changes, again and again, until the reader goes.
func TestStreamKeepsAPageLive(t *testing.T) {
	var n atomic.Int64
	h := newHandler(func() *Snapshot {
		s := shop()
		s.Locks[3].Counts.Acquired = uint64(n.Add(1))
		return s
	}, &history{})
	h.step = time.Millisecond
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := listen(t, ctx, server.URL+"?format=events", http.StatusOK)
	for want := range 3 {
		var page strings.Builder
		for line := range lines {
			if line == "" {
				break
			}
			data, ok := strings.CutPrefix(line, "data: ")
			require.True(t, ok, line)
			page.WriteString(data + "\n")
		}
		require.Equal(t, 1, elements(t, page.String())["main"])
		require.GreaterOrEqual(t, n.Load(), int64(want))
	}
	cancel()
	require.Eventually(t, func() bool { return len(h.streams) == 0 }, 10*time.Second, time.Millisecond)
}

// listen reads the lines of a stream.
func listen(t *testing.T, ctx context.Context, address string, status int) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, status, answer.StatusCode)
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer func() { _ = answer.Body.Close() }()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

func TestStreamsAreBounded(t *testing.T) {
	h := newHandler(shop, &history{})
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	for range maxStreams {
		<-listen(t, ctx, server.URL+"?format=events", http.StatusOK)
	}
	_, more := <-listen(t, ctx, server.URL+"?format=events", http.StatusServiceUnavailable)
	require.True(t, more)
	cancel()
	require.Eventually(t, func() bool { return len(h.streams) == 0 }, 10*time.Second, time.Millisecond)
	again, cancel := context.WithCancel(t.Context())
	<-listen(t, again, server.URL+"?format=events", http.StatusOK)
	cancel()
}

// A server that shuts down would wait for a stream for ever.
func TestStreamEndsWhenTheServerShutsDown(t *testing.T) {
	server := httptest.NewServer(newHandler(shop, &history{}))
	defer server.Close()
	lines := listen(t, t.Context(), server.URL+"?format=events&lock=4", http.StatusOK)
	<-lines
	done := make(chan error, 1)
	go func() { done <- server.Config.Shutdown(context.WithoutCancel(t.Context())) }()
	for more := true; more; { // it ends
		_, more = <-lines
	}
	require.NoError(t, <-done)
}

func TestStreamOfALockThatIsGoneStaysQuiet(t *testing.T) {
	require.Equal(t, ":\n\n", string(event(nil)))
	server := httptest.NewServer(newHandler(shop, &history{}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.Equal(t, ":", <-listen(t, ctx, server.URL+"?format=events&lock=77", http.StatusOK))
}
