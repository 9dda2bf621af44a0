package httplimit_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
)

// through calls f with the writer that a handler gets for w, and returns the result.
func through(t *testing.T, w http.ResponseWriter, f func(http.ResponseWriter)) (r httplimit.Result) {
	t.Helper()
	h := httplimit.Handler(fixed(t, 1), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { f(w) }),
		httplimit.WithEnd(func(_ *limit.Permit, result httplimit.Result) { r = result }))
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	return r
}

// interfaces says which of the optional ones a writer has.
func interfaces(w http.ResponseWriter) (names []string) {
	if _, ok := w.(http.Flusher); ok {
		names = append(names, "Flusher")
	}
	if _, ok := w.(http.Hijacker); ok {
		names = append(names, "Hijacker")
	}
	if _, ok := w.(http.Pusher); ok {
		names = append(names, "Pusher")
	}
	return names
}

func TestTheWriterHasTheInterfacesOfTheServers(t *testing.T) {
	compare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		want := interfaces(w)
		through(t, w, func(w http.ResponseWriter) {
			require.Equal(t, want, interfaces(w))
			_, _ = io.WriteString(w, strings.Join(want, " "))
		})
	})
	for want, handler := range map[string]http.Handler{
		"Flusher Hijacker": compare,
		"Pusher":           http.TimeoutHandler(compare, time.Hour, ""),
	} {
		_, _, got, err := get(t.Context(), serve(t, handler), "/")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, _, got, err := get(t.Context(), start(t, compare, true), "/")
	require.NoError(t, err)
	require.Equal(t, "Flusher Pusher", got)

	recorder := httptest.NewRecorder()
	compare.ServeHTTP(recorder, nil)
	require.Equal(t, "Flusher", recorder.Body.String())
	compare.ServeHTTP(struct{ http.ResponseWriter }{recorder}, nil)
	compare.ServeHTTP(struct {
		http.ResponseWriter
		http.Hijacker
	}{recorder, nil}, nil)
}

// Invariant 4.
func TestTheStatusIsTheOneThatWasSent(t *testing.T) {
	for name, f := range map[string]func(http.ResponseWriter){
		"nothing":         func(http.ResponseWriter) {},
		"header":          func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) },
		"two headers":     func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot); w.WriteHeader(http.StatusOK) },
		"write":           func(w http.ResponseWriter) { _, _ = w.Write(nil); w.WriteHeader(http.StatusTeapot) },
		"string":          func(w http.ResponseWriter) { _, _ = io.WriteString(w, ""); w.WriteHeader(http.StatusTeapot) },
		"reader":          func(w http.ResponseWriter) { readFrom(w, "text"); w.WriteHeader(http.StatusTeapot) },
		"flush":           func(w http.ResponseWriter) { w.(http.Flusher).Flush(); w.WriteHeader(http.StatusTeapot) },
		"hint, then more": func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints); w.WriteHeader(http.StatusTeapot) },
	} {
		t.Run(name, func(t *testing.T) {
			protocols(t, func(t *testing.T, serve func(http.Handler) *httptest.Server) {
				noted := make(chan int, 1)
				server := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					noted <- through(t, w, f).Status
				}))
				status, _, _, err := get(t.Context(), server, "/")
				require.NoError(t, err)
				require.Equal(t, status, receive(t, noted))
			})
		})
	}
}

// stubborn is a server's writer that keeps its connection.
type stubborn struct{ *httptest.ResponseRecorder }

func (stubborn) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrHijacked }

func TestAHijackThatFailsIsNone(t *testing.T) {
	r := through(t, stubborn{httptest.NewRecorder()}, func(w http.ResponseWriter) {
		_, _, err := w.(http.Hijacker).Hijack()
		require.Equal(t, http.ErrHijacked, err)
		w.WriteHeader(http.StatusInternalServerError)
	})
	require.Equal(t, http.StatusInternalServerError, r.Status)
}

func readFrom(w http.ResponseWriter, text string) {
	_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader(text))
}

// sendfile is a server's writer that can copy without the processor.
type sendfile struct {
	*httptest.ResponseRecorder
	text string
}

func (s *sendfile) ReadFrom(r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	s.text += string(b)
	return int64(len(b)), err
}

func TestAFileIsSentByTheServersWriter(t *testing.T) {
	s := &sendfile{ResponseRecorder: httptest.NewRecorder()}
	through(t, s, func(w http.ResponseWriter) {
		_, err := io.Copy(w, struct{ io.Reader }{strings.NewReader("a file")})
		require.NoError(t, err)
	})
	require.Equal(t, "a file", s.text)
	require.Empty(t, s.Body.String())
}

func TestAResponseControllerReachesTheServersWriter(t *testing.T) {
	noted := make(chan error, 4)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		through(t, w, func(w http.ResponseWriter) {
			c := http.NewResponseController(w)
			noted <- c.SetReadDeadline(time.Now().Add(time.Hour))
			noted <- c.SetWriteDeadline(time.Now().Add(time.Hour))
			noted <- c.EnableFullDuplex()
			noted <- c.Flush()
		})
	}))
	_, _, _, err := get(t.Context(), server, "/")
	require.NoError(t, err)
	for range 4 {
		require.NoError(t, receive(t, noted))
	}
	through(t, struct{ http.ResponseWriter }{httptest.NewRecorder()}, func(w http.ResponseWriter) {
		require.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
	})
}
