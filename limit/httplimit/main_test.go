package httplimit_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// fixed returns a limiter of n permits whose limit does not change. At the end of the test all
// permits must be back.
func fixed(t *testing.T, n int64, opts ...semaphore.Option) *limit.Limiter {
	t.Helper()
	sem := semaphore.New(0, opts...)
	l := limit.New(sem, &limit.AIMD{Min: n, Max: n})
	t.Cleanup(func() {
		if !t.Failed() {
			requireAllBack(t, l)
		}
	})
	return l
}

// hold takes a permit.
func hold(t *testing.T, l *limit.Limiter) *limit.Permit {
	t.Helper()
	p, ok := l.TryAcquire(1)
	require.True(t, ok)
	return p
}

func requireAllBack(t *testing.T, l *limit.Limiter) {
	t.Helper()
	locktest.Eventually(t, "all permits are back", func() bool {
		return l.Semaphore().Available() == l.Limit() && l.InFlight() == 0 && l.Semaphore().Waiting() == 0
	})
}

// protocols runs f with servers and clients of both versions.
func protocols(t *testing.T, f func(t *testing.T, serve func(http.Handler) *httptest.Server)) {
	t.Helper()
	for _, two := range []bool{false, true} {
		name := "HTTP/1"
		if two {
			name = "HTTP/2"
		}
		t.Run(name, func(t *testing.T) {
			f(t, func(h http.Handler) *httptest.Server { return start(t, h, two) })
		})
	}
}

// serve starts a server of HTTP/1.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	return start(t, h, false)
}

func start(t *testing.T, h http.Handler, two bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are part of the tests
	if two {
		server.EnableHTTP2 = true
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections() // also of handlers that a failed test has left
		server.Close()
	})
	return server
}

// get does a request and reads the whole response.
func get(
	ctx context.Context, server *httptest.Server, path string,
) (status int, header http.Header, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		return 0, nil, "", err
	}
	response, err := server.Client().Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(b), err
}

func requireOK(t *testing.T, server *httptest.Server) {
	t.Helper()
	status, _, _, err := get(t.Context(), server, "/")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

// result is what get returns, without the header.
type result struct {
	status int
	err    error
}

// later does a request in a goroutine.
func later(ctx context.Context, server *httptest.Server, path string) <-chan result {
	c := make(chan result, 1)
	go func() {
		status, _, _, err := get(ctx, server, path)
		c <- result{status, err}
	}()
	return c
}

// door is a handler that runs until the test lets it go or its client has gone.
type door struct {
	entered chan string
	leave   chan struct{}
	left    chan error // the error of the context
}

func newDoor() *door {
	return &door{make(chan string, 100), make(chan struct{}), make(chan error, 100)}
}

func (d *door) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/free") {
		return
	}
	d.entered <- r.URL.Path
	select {
	case <-d.leave:
	case <-r.Context().Done():
	}
	d.left <- r.Context().Err()
}

// receive fails the test if nothing comes.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(locktest.Patience):
		require.FailNow(t, "nothing comes")
		panic("unreachable")
	}
}
