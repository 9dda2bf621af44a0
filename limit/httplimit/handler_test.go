package httplimit_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// Invariant 2.
func TestAsManyRunAsThereArePermits(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l, d := fixed(t, 2), newDoor()
		server := serve(httplimit.Handler(l, d))
		var results []<-chan result
		for range 5 {
			results = append(results, later(t.Context(), server, "/"))
		}
		receive(t, d.entered)
		receive(t, d.entered)
		locktest.AwaitWaiting(t, l.Semaphore(), 3)
		require.EqualValues(t, 2, l.InFlight())
		require.Empty(t, d.entered)
		close(d.leave)
		for _, r := range results {
			require.Equal(t, result{http.StatusOK, nil}, receive(t, r))
		}
	})
}

// Invariant 3.
func TestARefusedRequestGets503(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l, d := fixed(t, 1, semaphore.WithMaxWaiting(1)), newDoor()
		server := serve(httplimit.Handler(l, d))
		first := later(t.Context(), server, "/")
		receive(t, d.entered)
		second := later(t.Context(), server, "/")
		locktest.AwaitWaiting(t, l.Semaphore(), 1)

		status, header, text, err := get(t.Context(), server, "/")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "1", header.Get("Retry-After"))
		require.Equal(t, "the server is overloaded: try again later\n", text)
		require.Empty(t, d.entered)

		close(d.leave)
		require.Equal(t, result{http.StatusOK, nil}, receive(t, first))
		require.Equal(t, result{http.StatusOK, nil}, receive(t, second))
	})
}

func TestARequestWaitsNoLongerThanItMay(t *testing.T) {
	l := fixed(t, 1)
	defer hold(t, l).Ignore()
	server := serve(t, httplimit.Handler(l, newDoor(), httplimit.WithMaxWait(20*time.Millisecond)))
	status, header, _, err := get(t.Context(), server, "/")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "1", header.Get("Retry-After"))
}

// A repetition does not help, so none is suggested.
func TestWhatCannotBeServedIsNotAskedToComeAgain(t *testing.T) {
	l := fixed(t, 2)
	costs := func(r *http.Request) int64 { return int64(len(r.URL.Path)) - 1 }
	server := serve(t, httplimit.Handler(l, newDoor(), httplimit.WithCost(costs)))
	refused := func(path string) {
		t.Helper()
		status, header, _, err := get(t.Context(), server, path)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Empty(t, header.Values("Retry-After"))
	}
	refused("/abc") // too large
	l.Semaphore().Close()
	refused("/a")
	none := httplimit.WithCost(func(*http.Request) int64 { return 0 })
	status, _, _, err := get(t.Context(), serve(t, httplimit.Handler(l, newDoor(), none)), "/free")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status) // it has passed by
}

func TestARequestHoldsWhatItCosts(t *testing.T) {
	l, d := fixed(t, 10), newDoor()
	costs := func(r *http.Request) int64 { return int64(len(r.URL.Path)) - 1 }
	server := serve(t, httplimit.Handler(l, d, httplimit.WithCost(costs)))
	first, second := later(t.Context(), server, "/abcd"), later(t.Context(), server, "/abc")
	receive(t, d.entered)
	receive(t, d.entered)
	require.EqualValues(t, 3, l.Semaphore().Available())
	require.EqualValues(t, 7, l.InFlight())
	close(d.leave)
	receive(t, first)
	receive(t, second)
}

// A tenant that sends one request does not wait for all those of one that sends many.
func TestTenantsHaveShares(t *testing.T) {
	l, d := fixed(t, 1, semaphore.WithShares(nil)), newDoor()
	close(d.leave)
	held := hold(t, l)
	server := serve(t, httplimit.Handler(l, d, httplimit.WithTenant(func(r *http.Request) any { return r.URL.Path })))
	var all []<-chan result
	for i, path := range []string{"/a", "/a", "/a", "/a", "/a", "/a", "/b"} {
		all = append(all, later(t.Context(), server, path))
		locktest.AwaitWaiting(t, l.Semaphore(), i+1)
	}
	held.Ignore()
	for _, r := range all {
		require.Equal(t, result{http.StatusOK, nil}, receive(t, r))
	}
	before := 0
	for receive(t, d.entered) != "/b" {
		before++
	}
	require.LessOrEqual(t, before, 3)
}

func TestAClientThatGoesLeavesTheLine(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l, d := fixed(t, 1), newDoor()
		server := serve(httplimit.Handler(l, d))
		first := later(t.Context(), server, "/first")
		receive(t, d.entered)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		second := later(ctx, server, "/second")
		locktest.AwaitWaiting(t, l.Semaphore(), 1)
		third := later(t.Context(), server, "/third")
		locktest.AwaitWaiting(t, l.Semaphore(), 2)
		cancel()
		require.ErrorIs(t, receive(t, second).err, context.Canceled)
		locktest.AwaitWaiting(t, l.Semaphore(), 1)
		close(d.leave)
		require.Equal(t, result{http.StatusOK, nil}, receive(t, first))
		require.Equal(t, result{http.StatusOK, nil}, receive(t, third))
		require.Equal(t, "/third", receive(t, d.entered)) // the second has never run
	})
}

// Invariant 1.
func TestAClientThatGoesWhileItIsServedReturnsItsPermit(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l, d := fixed(t, 1), newDoor()
		ended := make(chan httplimit.Result, 1)
		server := serve(httplimit.Handler(l, d, httplimit.WithEnd(func(p *limit.Permit, r httplimit.Result) {
			ended <- r // first: the permit wakes a handler that reports, too
			httplimit.End(p, r)
		})))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := later(ctx, server, "/")
		receive(t, d.entered)
		cancel()
		require.ErrorIs(t, receive(t, r).err, context.Canceled)
		require.ErrorIs(t, receive(t, d.left), context.Canceled)
		require.ErrorIs(t, receive(t, ended).Err, context.Canceled)
		close(d.leave)
		requireOK(t, server)
	})
}

// Invariant 1.
func TestAPanicReturnsThePermit(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l := fixed(t, 1)
		var thrown atomic.Value // what has gone through
		inner := httplimit.Handler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/middle":
				_, _ = io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				panic("in the middle")
			}
		}), httplimit.WithEnd(func(p *limit.Permit, r httplimit.Result) {
			if r.Request.URL.Path != "/" {
				panic("a request that has panicked is no result")
			}
			p.Success()
		}))
		server := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v != nil {
					thrown.Store(fmt.Sprint(v))
					panic(v)
				}
			}()
			inner.ServeHTTP(w, r)
		}))
		for path, want := range map[string]string{
			"/abort": fmt.Sprint(http.ErrAbortHandler), "/middle": "in the middle",
		} {
			for range 3 {
				_, _, _, err := get(t.Context(), server, path)
				require.Error(t, err)
				require.Equal(t, want, thrown.Load())
			}
			requireOK(t, server)
		}
	})
}

// A client that reads slowly keeps its handler, and so its permit, until it goes.
func TestAClientThatReadsSlowlyHoldsItsPermit(t *testing.T) {
	l := fixed(t, 1)
	sent := make(chan error, 1)
	server := serve(t, httplimit.Handler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			return
		}
		var err error
		for chunk := make([]byte, 1<<20); err == nil; { // more than the buffers of a connection hold
			_, err = w.Write(chunk)
		}
		sent <- err
	})))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(conn).ReadByte() // the response has begun
	require.NoError(t, err)
	other := later(t.Context(), server, "/")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	require.Empty(t, sent)
	require.NoError(t, conn.Close())
	require.Error(t, receive(t, sent))
	require.Equal(t, result{http.StatusOK, nil}, receive(t, other))
}

// Over HTTP/1 net/http reads no more of a connection than the handler wants. So it does not notice
// that a client has gone whose body nobody has read. WithMaxWait bounds the wait.
func TestAnUploadThatWaitsIsBounded(t *testing.T) {
	l := fixed(t, 1)
	defer hold(t, l).Ignore()
	server := serve(t, httplimit.Handler(l, newDoor(), httplimit.WithMaxWait(50*time.Millisecond)))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbegin")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
}

func TestAStreamHoldsItsPermitUntilItsEnd(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l, d := fixed(t, 1), newDoor()
		server := serve(httplimit.Handler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/events" {
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
			}
			d.ServeHTTP(w, r)
		})))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", http.NoBody)
		require.NoError(t, err)
		response, err := server.Client().Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		events := bufio.NewReader(response.Body)
		for i := range 3 { // they come while the handler runs
			line, err := events.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("data: %d\n", i), line)
			_, err = events.ReadString('\n')
			require.NoError(t, err)
		}
		other := later(t.Context(), server, "/")
		locktest.AwaitWaiting(t, l.Semaphore(), 1)
		cancel()
		require.ErrorIs(t, receive(t, d.left), context.Canceled)
		require.Equal(t, result{http.StatusOK, nil}, receive(t, other))
	})
}

func TestAConnectionThatIsTakenOverHoldsItsPermitUntilTheHandlerReturns(t *testing.T) {
	l := fixed(t, 1)
	ended := make(chan httplimit.Result, 2)
	server := serve(t, httplimit.Handler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/echo" {
			return
		}
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	}), httplimit.WithEnd(func(p *limit.Permit, r httplimit.Result) {
		ended <- r // first: the permit wakes a handler that reports, too
		httplimit.End(p, r)
	})))
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	_, err = io.WriteString(conn, "again\n")
	require.NoError(t, err)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "again\n", line)

	other := later(t.Context(), server, "/")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	require.NoError(t, conn.Close())
	require.Equal(t, http.StatusSwitchingProtocols, receive(t, ended).Status)
	require.Equal(t, result{http.StatusOK, nil}, receive(t, other))
}

// Conservation, with clients that go at any time and handlers that panic.
func TestPermitsAreConserved(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		const permits = 4
		l := fixed(t, permits, semaphore.WithMaxWaiting(20))
		var running, ran atomic.Int64
		server := serve(httplimit.Handler(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			weight := int64(len(r.URL.Path)) - 1
			if running.Add(weight) > permits {
				t.Error("more run than there are permits")
			}
			defer running.Add(-weight)
			switch ran.Add(1) % 8 {
			case 0:
				panic(http.ErrAbortHandler)
			case 1:
				_, _ = w.Write(make([]byte, 1<<16))
			case 2:
				<-r.Context().Done()
			}
		}), httplimit.WithMaxWait(20*time.Millisecond),
			httplimit.WithCost(func(r *http.Request) int64 { return int64(len(r.URL.Path)) - 1 })))
		transport := server.Client().Transport.(*http.Transport)
		transport.MaxIdleConnsPerHost = 32
		var clients sync.WaitGroup
		for range 32 {
			clients.Go(func() {
				for range locktest.Scaled(200) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(20_000))*time.Microsecond)
					_, _, _, _ = get(ctx, server, "/"+strings.Repeat("a", 1+rand.IntN(permits)))
					cancel()
				}
			})
		}
		clients.Wait()
		requireAllBack(t, l)
	})
}

func TestMisuseIsNamed(t *testing.T) {
	l := limit.New(semaphore.New(0), &limit.AIMD{})
	next := http.NotFoundHandler()
	require.PanicsWithValue(t, "httplimit: nil limiter", func() { httplimit.Handler(nil, next) })
	require.PanicsWithValue(t, "httplimit: nil handler", func() { httplimit.Handler(l, nil) })
	require.PanicsWithValue(t, "httplimit: nil option", func() { httplimit.Handler(l, next, nil) })
	require.PanicsWithValue(t, "httplimit: nil limiter", func() { httplimit.Transport(nil, nil) })
	require.PanicsWithValue(t, "httplimit: nil option", func() { httplimit.Transport(l, nil, nil) })
	require.PanicsWithValue(t, "httplimit: WithMaxWait(0s): the duration must be positive", func() { httplimit.WithMaxWait(0) })
	require.PanicsWithValue(t, "httplimit: WithCost without a function", func() { httplimit.WithCost(nil) })
	require.PanicsWithValue(t, "httplimit: WithTenant without a function", func() { httplimit.WithTenant(nil) })
	require.PanicsWithValue(t, "httplimit: WithEnd without a function", func() { httplimit.WithEnd(nil) })
}
