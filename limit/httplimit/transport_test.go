package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// limited makes the client of the server wait for l.
func limited(server *httptest.Server, l *limit.Limiter, opts ...httplimit.Option) *http.Client {
	client := server.Client()
	client.Transport = httplimit.Transport(l, client.Transport, opts...)
	return client
}

func post(ctx context.Context, t *testing.T, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	require.NoError(t, err)
	return r
}

// pages has a text at /, nothing at /none and a text without end at /endless. It breaks off at
// /broken.
func pages(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Length", "4")
		_, _ = io.WriteString(w, "text")
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/endless":
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 4096))
		}
	case "/broken":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "less")
	}
}

func TestTheResponseHoldsThePermit(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l := fixed(t, 1)
		server := serve(http.HandlerFunc(pages))
		client := limited(server, l)
		for _, c := range []struct {
			name, path string
			holds      bool // with the headers
			end        func(context.CancelFunc, *http.Response)
		}{
			{"read to its end", "/", true, func(_ context.CancelFunc, r *http.Response) {
				text, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.Equal(t, "text", string(text))
			}},
			{"closed", "/", true, func(_ context.CancelFunc, r *http.Response) { require.NoError(t, r.Body.Close()) }},
			{"closed early", "/endless", true, func(_ context.CancelFunc, r *http.Response) {
				_, err := io.ReadFull(r.Body, make([]byte, 1<<20))
				require.NoError(t, err)
				require.EqualValues(t, 1, l.InFlight())
				require.NoError(t, r.Body.Close())
			}},
			{"given up", "/endless", true, func(cancel context.CancelFunc, r *http.Response) {
				cancel()
				_, err := io.Copy(io.Discard, r.Body)
				require.ErrorIs(t, err, context.Canceled)
			}},
			{"broken", "/broken", true, func(_ context.CancelFunc, r *http.Response) {
				_, err := io.ReadAll(r.Body)
				require.Error(t, err)
			}},
			{"empty", "/none", false, func(context.CancelFunc, *http.Response) {}},
		} {
			t.Run(c.name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				response, err := client.Do(post(ctx, t, server.URL+c.path, http.NoBody))
				require.NoError(t, err)
				defer response.Body.Close()
				if c.holds {
					require.EqualValues(t, 1, l.InFlight())
				}
				c.end(cancel, response)
				require.Zero(t, l.InFlight())
			})
		}
		response, err := client.Head(server.URL)
		require.NoError(t, err)
		require.Zero(t, l.InFlight())
		require.NoError(t, response.Body.Close())
	})
}

// closing is the body of a request that tells when it is closed.
type closing struct {
	io.Reader
	closed atomic.Int64
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return nil
}

// Invariant 2.
func TestARefusedRequestIsNotSent(t *testing.T) {
	d := newDoor()
	server := serve(t, d)
	refused := func(ctx context.Context, client *http.Client, want error) {
		t.Helper()
		body := &closing{Reader: strings.NewReader("text")}
		_, err := client.Transport.RoundTrip(post(ctx, t, server.URL+"/refused", body))
		require.ErrorIs(t, err, want)
		if !errors.Is(want, semaphore.ErrTooLarge) {
			require.Equal(t, want, err) // itself, so that url.Error.Timeout knows it
		}
		require.EqualValues(t, 1, body.closed.Load())
		_, err = client.Transport.RoundTrip(post(ctx, t, server.URL+"/refused", nil))
		require.ErrorIs(t, err, want)
	}
	l := fixed(t, 1, semaphore.WithMaxWaiting(1))
	client := limited(server, l)
	brief := &http.Client{Transport: httplimit.Transport(l, nil, httplimit.WithMaxWait(time.Millisecond))}
	isTwo := func(*http.Request) int64 { return 2 }
	two := &http.Client{Transport: httplimit.Transport(l, nil, httplimit.WithCost(isTwo))}
	first := later(t.Context(), server, "/first")
	require.Equal(t, "/first", receive(t, d.entered))

	refused(t.Context(), two, semaphore.ErrTooLarge)
	refused(t.Context(), brief, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	refused(ctx, client, context.DeadlineExceeded)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused(gone, client, context.Canceled)
	second := later(t.Context(), server, "/second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	refused(t.Context(), client, semaphore.ErrQueueFull)

	close(d.leave)
	require.Equal(t, result{http.StatusOK, nil}, receive(t, first))
	require.Equal(t, result{http.StatusOK, nil}, receive(t, second))
	require.Equal(t, "/second", receive(t, d.entered))
	l.Semaphore().Close()
	refused(t.Context(), client, semaphore.ErrClosed)
	require.Empty(t, d.entered)
}

func TestATimeoutOfTheClientEndsItsWait(t *testing.T) {
	l, d := fixed(t, 1), newDoor()
	server := serve(t, d)
	client := limited(server, l)
	first := later(t.Context(), server, "/")
	receive(t, d.entered)
	impatient := *client
	impatient.Timeout = 10 * time.Millisecond
	_, err := impatient.Do(post(t.Context(), t, server.URL, http.NoBody))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
	close(d.leave)
	require.Equal(t, result{http.StatusOK, nil}, receive(t, first))
}

// The server answers as many requests at a time as the client has permits.
func TestAClientSendsNoMoreThanItMay(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		const permits = 3
		var running atomic.Int64
		server := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if running.Add(1) > permits {
				t.Error("more run than there are permits")
			}
			defer running.Add(-1)
			pages(w, r)
		}))
		l := fixed(t, permits, semaphore.WithMaxWaiting(20))
		// A request whose client has given up may still run on the server. So no one does here.
		client := limited(server, l, httplimit.WithMaxWait(5*time.Millisecond))
		var clients sync.WaitGroup
		for range 16 {
			clients.Go(func() {
				for range locktest.Scaled(400) {
					path := []string{"/", "/none", "/broken"}[rand.IntN(3)]
					response, err := client.Get(server.URL + path)
					if err != nil {
						continue
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			})
		}
		clients.Wait()
		requireAllBack(t, l)
	})
}

// Conservation, with clients that give up at any time.
func TestPermitsOfClientsAreConserved(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		l := fixed(t, 3, semaphore.WithMaxWaiting(20))
		server := serve(http.HandlerFunc(pages))
		client := limited(server, l, httplimit.WithMaxWait(5*time.Millisecond))
		var clients sync.WaitGroup
		for range 16 {
			clients.Go(func() {
				for range locktest.Scaled(200) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(10_000))*time.Microsecond)
					path := []string{"/", "/none", "/broken", "/endless"}[rand.IntN(4)]
					r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
					if response, err := client.Do(r); err == nil {
						_, _ = io.CopyN(io.Discard, response.Body, rand.Int64N(1<<17))
						_ = response.Body.Close()
					}
					cancel()
				}
			})
		}
		clients.Wait()
		requireAllBack(t, l)
	})
}

// Invariant 1.
func TestABodyEndsItsPermitOnce(t *testing.T) {
	l := fixed(t, 1)
	var ends atomic.Int64
	server := serve(t, http.HandlerFunc(pages))
	client := limited(server, l, httplimit.WithEnd(func(p *limit.Permit, _ httplimit.Result) {
		p.Success()
		ends.Add(1)
	}))
	for n := range int64(20) {
		response, err := client.Get(server.URL + "/endless")
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() { _, _ = io.Copy(io.Discard, response.Body) })
		for range 3 {
			all.Go(func() { _ = response.Body.Close() })
		}
		all.Wait()
		require.Equal(t, n+1, ends.Load())
	}
}

// A connection that a response hands over holds its permit until it is closed.
func TestAConnectionIsHandedOver(t *testing.T) {
	l := fixed(t, 1)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	}))
	client := limited(server, l)
	r := post(t.Context(), t, server.URL, http.NoBody)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	conn, ok := response.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(conn, "again\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "again\n", line)
	require.EqualValues(t, 1, l.InFlight())
	require.NoError(t, conn.Close())
	require.Zero(t, l.InFlight())
}

func TestARequestThatCostsNothingPassesBy(t *testing.T) {
	l := fixed(t, 1)
	l.Semaphore().Close()
	server := serve(t, http.HandlerFunc(pages))
	client := limited(server, l, httplimit.WithCost(func(*http.Request) int64 { return 0 }))
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}

// roundTrip is a transport of a test's.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// idle is a transport that counts how often its idle connections are closed.
type idle struct {
	roundTrip
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestATransportMayFail(t *testing.T) {
	l := fixed(t, 1)
	r := post(t.Context(), t, "http://localhost", http.NoBody)
	failed := errors.New("failed")
	var got httplimit.Result
	note := httplimit.WithEnd(func(_ *limit.Permit, r httplimit.Result) { got = r })
	fails := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) { return nil, failed }), note)
	_, err := fails.RoundTrip(r)
	require.Equal(t, failed, err)
	require.Equal(t, httplimit.Result{Request: r, Err: failed}, got)
	require.Zero(t, l.InFlight())

	late := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("less"), iotest.ErrReader(failed))
		return &http.Response{StatusCode: http.StatusOK, ContentLength: 100, Body: io.NopCloser(body)}, nil
	}), note)
	response, err := late.RoundTrip(r)
	require.NoError(t, err)
	_, err = io.ReadAll(response.Body)
	require.Equal(t, failed, err)
	require.Equal(t, httplimit.Result{Request: r, Status: http.StatusOK, Err: failed}, got)

	ctx, cancel := context.WithCancel(t.Context())
	response, err = late.RoundTrip(r.WithContext(ctx))
	require.NoError(t, err)
	cancel()
	require.NoError(t, response.Body.Close()) // the answer was enough
	require.NoError(t, got.Err)

	broken := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) { panic("broken") }))
	require.PanicsWithValue(t, "broken", func() { _, _ = broken.RoundTrip(r) })
	require.Zero(t, l.InFlight())

	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		want := &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: body}
		got, err := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) {
			return want, nil
		})).RoundTrip(r)
		require.NoError(t, err)
		require.Same(t, want, got)
		require.Zero(t, l.InFlight())
	}
	(&http.Client{Transport: broken}).CloseIdleConnections() // there are none
	pool := new(idle)
	(&http.Client{Transport: httplimit.Transport(l, pool)}).CloseIdleConnections()
	require.Equal(t, 1, pool.closed)
}

// The cause of a context's end can be anything. The context itself says what has happened.
func TestTheErrorOfAResultIsTheContexts(t *testing.T) {
	reason := errors.New("reason")
	synctest.Test(t, func(t *testing.T) {
		var got httplimit.Result
		transport := httplimit.Transport(fixed(t, 1), roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}), httplimit.WithEnd(func(_ *limit.Permit, r httplimit.Result) { got = r }))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, reason)
		defer cancel()
		_, err := transport.RoundTrip(post(ctx, t, "http://localhost", nil))
		require.Equal(t, reason, err)
		require.Equal(t, context.DeadlineExceeded, got.Err)
		require.Zero(t, got.Status)

		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(reason) })
		_, err = transport.RoundTrip(post(ctx, t, "http://localhost", nil))
		require.Equal(t, reason, err)
		require.Equal(t, context.Canceled, got.Err)
	})
}
