package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// A response is a writer that notes the status. Handlers get it as complete returns it.
type response struct {
	http.ResponseWriter
	status int // 0: the header has not been sent
}

// complete returns w with those optional interfaces that the server's writer has. Without them
// handlers would believe that it cannot stream.
func (w *response) complete() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	p, pushes := w.ResponseWriter.(http.Pusher)
	switch {
	case flushes && hijacks: // HTTP/1, which cannot push
		return struct {
			*response
			http.Flusher
			http.Hijacker
		}{w, flusher{w}, (*inner)(w)}
	case flushes && pushes: // HTTP/2
		return struct {
			*response
			http.Flusher
			http.Pusher
		}{w, flusher{w}, p}
	case flushes:
		return struct {
			*response
			http.Flusher
		}{w, flusher{w}}
	case hijacks:
		return struct {
			*response
			http.Hijacker
		}{w, (*inner)(w)}
	case pushes: // http.TimeoutHandler
		return struct {
			*response
			http.Pusher
		}{w, p}
	}
	return w
}

// begin notes the status, if no header was sent before and it is not one of those that others
// follow.
func (w *response) begin(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return (*inner)(w) }

// WriteHeader notes the status afterwards: the server panics if there is no such status.
func (w *response) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	w.begin(status)
}

func (w *response) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// WriteString implements [io.StringWriter], which saves a copy.
func (w *response) WriteString(s string) (int, error) {
	w.begin(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// ReadFrom implements [io.ReaderFrom]: the server sends a file without copying it. The header is
// sent with the first byte, so a reader that has none leaves the status open.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(w.ResponseWriter, r)
	if n > 0 {
		w.begin(http.StatusOK)
	}
	return n, err
}

// FlushError is for [http.ResponseController].
func (w *response) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if err == nil {
		w.begin(http.StatusOK)
	}
	return err
}

type flusher struct{ w *response }

func (f flusher) Flush() { _ = f.w.FlushError() }

// An inner is what a response unwraps to: a writer of somebody else's may hide the Hijacker of the
// server, which a response controller finds behind it.
type inner response

// Unwrap is for [http.ResponseController].
func (w *inner) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *inner) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		(*response)(w).begin(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}
