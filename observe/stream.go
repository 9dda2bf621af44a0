package observe

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"time"
	"weak"
)

// patience is how long a client may take to read one event.
const patience = 10 * time.Second

// stream keeps a page live: it sends the part of the page that changes as server-sent events, in
// the goroutine of the request, until the client goes away or the server shuts down.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, down <-chan struct{}, id uint64, sortBy string) {
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "observe: too many live pages", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy would keep the events
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	tick := time.NewTicker(h.step)
	defer tick.Stop()
	for {
		body, status := h.render("events", id, sortBy)
		if status != http.StatusOK { // the lock has gone: the page stays as it was
			body = nil
		}
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // not all can
		if _, err := w.Write(event(body)); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return // nothing would arrive
		}
		select {
		case <-r.Context().Done():
			return
		case <-down:
			return
		case <-tick.C:
		}
	}
}

// event writes a body as an event; without one it is a comment, which keeps the connection.
func event(body []byte) []byte {
	if body == nil {
		return []byte(":\n\n")
	}
	var b bytes.Buffer
	for line := range bytes.Lines(body) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// shutdown returns a channel that is closed when the server of a request shuts down: it would wait
// for a stream for ever, and the stream for it. The channel stays closed for streams that come
// later. The map keeps no server from being collected.
func (h *handler) shutdown(ctx context.Context) <-chan struct{} {
	server, _ := ctx.Value(http.ServerContextKey).(*http.Server)
	if server == nil {
		return nil
	}
	key := weak.Make(server)
	h.mu.Lock()
	defer h.mu.Unlock()
	down := h.servers[key]
	if down == nil {
		life, end := context.WithCancel(context.Background())
		down = life.Done()
		h.servers[key] = down
		server.RegisterOnShutdown(end) // every Shutdown runs it
		runtime.AddCleanup(server, h.forget, key)
	}
	return down
}

// forget removes a server that has been collected.
func (h *handler) forget(key weak.Pointer[http.Server]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, key)
}
