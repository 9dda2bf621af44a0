package httplimit_test

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
)

// wrapped is the writer of another middleware: it has no optional interface but Unwrap.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Invariant 4. Nothing is sent before the first byte, so a copy that fails there leaves the status
// to the handler.
func TestACopyThatSendsNothingIsNoStatus(t *testing.T) {
	for name, from := range map[string]io.Reader{
		"empty": strings.NewReader(""), "fails": iotest.ErrReader(errors.New("no file")),
	} {
		t.Run(name, func(t *testing.T) {
			protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
				noted := make(chan int, 1)
				server := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					noted <- through(t, w, func(w http.ResponseWriter) {
						_, _ = io.Copy(w, struct{ io.Reader }{from})
						w.WriteHeader(http.StatusServiceUnavailable)
					}).Status
				}))
				status, _, _, err := get(t.Context(), server, "/")
				require.NoError(t, err)
				require.Equal(t, http.StatusServiceUnavailable, status)
				require.Equal(t, status, receive(t, noted))
			})
		})
	}
}

// Invariant 4. The server panics because of a status that there is not, and has sent nothing.
func TestAStatusThatTheServerRejectsIsNone(t *testing.T) {
	protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
		noted := make(chan int, 1)
		server := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			noted <- through(t, w, func(w http.ResponseWriter) {
				func() {
					defer func() { _ = recover() }()
					w.WriteHeader(1000)
				}()
				w.WriteHeader(http.StatusTeapot)
			}).Status
		}))
		status, _, _, err := get(t.Context(), server, "/")
		require.NoError(t, err)
		require.Equal(t, http.StatusTeapot, status)
		require.Equal(t, status, receive(t, noted))
	})
}

// A response controller takes the connection over through writers that only unwrap, also where the
// handler has such writers before and behind it.
func TestAHijackThroughOtherWritersIsSeen(t *testing.T) {
	noted := make(chan int, 1)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		noted <- through(t, wrapped{w}, func(w http.ResponseWriter) {
			conn, _, err := http.NewResponseController(wrapped{w}).Hijack()
			require.NoError(t, err)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
		}).Status
	}))
	requireOK(t, server)
	require.Equal(t, http.StatusSwitchingProtocols, receive(t, noted))
}

// Transports of others may break the contract. The client says so, as without Transport.
func TestATransportThatReturnsNothingIsNamed(t *testing.T) {
	l := fixed(t, 1)
	client := &http.Client{Transport: httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, nil
	}), httplimit.WithEnd(func(*limit.Permit, httplimit.Result) { t.Error("there is no result") }))}
	_, err := client.Get("http://localhost")
	require.ErrorContains(t, err, "returned a nil *Response with a nil error")
	require.Zero(t, l.InFlight())
}

// A proxy shuts one half of a connection that it has switched, and goes on with the other.
func TestHalfOfASwitchedConnectionMayBeShut(t *testing.T) {
	backend := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: last\r\n\r\n")
		text, _ := io.ReadAll(rw) // until the client has shut its half
		_, _ = io.WriteString(conn, "the end of "+string(text))
	}))
	address, err := url.Parse(backend.URL)
	require.NoError(t, err)
	ofServer, ofClient := fixed(t, 1), fixed(t, 1)
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.Transport = httplimit.Transport(ofClient, backend.Client().Transport)
	front := serve(t, httplimit.Handler(ofServer, proxy))
	conn, err := net.Dial("tcp", front.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: last\r\n\r\n")
	require.NoError(t, err)
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	_, err = io.WriteString(conn, "a text")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	text, err := io.ReadAll(from)
	require.NoError(t, err)
	require.Equal(t, "the end of a text", string(text))
	requireAllBack(t, ofClient)

	whole := httplimit.Transport(ofClient, roundTrip(func(*http.Request) (*http.Response, error) {
		one, other := net.Pipe()
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: one}, other.Close()
	}))
	switched, err := whole.RoundTrip(post(t.Context(), t, backend.URL, nil))
	require.NoError(t, err)
	require.ErrorIs(t, switched.Body.(interface{ CloseWrite() error }).CloseWrite(), http.ErrNotSupported)
	require.EqualValues(t, 1, ofClient.InFlight())
	require.NoError(t, switched.Body.Close())
}

// What reaches through both adapters is what has been sent: hints, the status, texts that arrive
// one by one in both directions, and trailers.
func TestBothAdaptersAreTransparent(t *testing.T) {
	both(t, func(t *testing.T, server *httptest.Server, client *http.Client) {
		out, in := io.Pipe()
		defer in.Close()
		r := post(t.Context(), t, server.URL+"/echo", out)
		response, err := client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		from := bufio.NewReader(response.Body)
		for range 20 { // a line comes back before the next is sent
			_, err = io.WriteString(in, "line\n")
			require.NoError(t, err)
			line, err := from.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "line\n", line)
		}
		require.NoError(t, in.Close())
		_, err = io.ReadAll(from)
		require.NoError(t, err)
		require.Equal(t, "last", response.Trailer.Get("X-Trailer"))
		require.NoError(t, response.Body.Close())
		require.NoError(t, response.Body.Close(), "closed twice")
	})
}

// both runs f with a limiter of one permit on either side of HTTP/1, HTTP/2 and HTTP/2 without TLS.
func both(t *testing.T, f func(*testing.T, *httptest.Server, *http.Client)) {
	t.Helper()
	for _, name := range []string{"HTTP/1", "HTTP/2", "h2c"} {
		t.Run(name, func(t *testing.T) {
			ofServer, ofClient := fixed(t, 1), fixed(t, 1)
			server := httptest.NewUnstartedServer(httplimit.Handler(ofServer, http.HandlerFunc(odd)))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			transport := new(http.Transport)
			t.Cleanup(transport.CloseIdleConnections)
			switch name {
			case "HTTP/2":
				server.EnableHTTP2 = true
				server.StartTLS()
				transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
				transport.ForceAttemptHTTP2 = true
			case "h2c":
				server.Config.Protocols = new(http.Protocols)
				server.Config.Protocols.SetUnencryptedHTTP2(true)
				transport.Protocols = server.Config.Protocols
				server.Start()
			default:
				server.Start()
			}
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			f(t, server, &http.Client{Transport: httplimit.Transport(ofClient, transport)})
			requireAllBack(t, ofServer)
			requireAllBack(t, ofClient)
		})
	}
}

// odd is a handler that does what few do.
func odd(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	switch r.URL.Path {
	case "/echo":
		if r.ProtoMajor == 1 {
			if c.EnableFullDuplex() != nil {
				return
			}
		}
		w.Header().Set("Trailer", "X-Trailer")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		_ = c.Flush()
		for from := bufio.NewReader(r.Body); ; {
			line, err := from.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = io.WriteString(w, line)
			_ = c.Flush()
		}
		w.Header().Set("X-Trailer", "last")
	case "/late": // the body is read when the handler is over
		go func() { _, _ = io.Copy(io.Discard, r.Body) }()
	case "/unread":
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/half":
		_, _ = io.WriteString(w, "half")
		_ = c.Flush()
		panic(http.ErrAbortHandler)
	case "/goexit":
		runtime.Goexit()
	case "/redirect":
		http.Redirect(w, r, "/unread", http.StatusTemporaryRedirect)
	}
}

// Conservation: whatever handlers do with a request, and clients with a response, all permits are
// back. A client follows redirects with its one permit.
func TestOddHandlersAndClientsLoseNoPermit(t *testing.T) {
	both(t, func(t *testing.T, server *httptest.Server, client *http.Client) {
		for range locktest.Scaled(20) {
			for _, path := range []string{"/late", "/unread", "/abort", "/half", "/redirect"} {
				r := post(t.Context(), t, server.URL+path, strings.NewReader(strings.Repeat("x", 100_000)))
				response, err := client.Do(r)
				if err != nil {
					continue
				}
				var all sync.WaitGroup
				all.Go(func() { _, _ = io.Copy(io.Discard, response.Body) })
				all.Go(func() { _ = response.Body.Close() })
				all.Go(func() { _ = response.Body.Close() })
				all.Wait()
			}
		}
	})
}

// Invariant 1. A handler may end its goroutine.
func TestAGoexitReturnsThePermit(t *testing.T) {
	l := fixed(t, 1)
	h := httplimit.Handler(l, http.HandlerFunc(odd))
	tr := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) {
		runtime.Goexit()
		return nil, nil
	}))
	var all sync.WaitGroup
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/goexit", http.NoBody)
	all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
	all.Wait()
	all.Go(func() { _, _ = tr.RoundTrip(r) })
	all.Wait()
	require.Zero(t, l.InFlight())
}
