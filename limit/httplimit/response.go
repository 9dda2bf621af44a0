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
		}{w, flusher{w}, hijacker{w}}
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
		}{w, hijacker{w}}
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
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
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

// ReadFrom implements [io.ReaderFrom]: the server sends a file without copying it.
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	return io.Copy(w.ResponseWriter, r)
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

type hijacker struct{ w *response }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := h.w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		h.w.begin(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}
