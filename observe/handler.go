package observe

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
	"weak"
)

// Handler returns a page of all locks that are observed, for people and for programs. It shows what
// is wrong first, then the locks by trouble, and who waits for whom as a picture. Mount it where
// only those may come who may also see net/http/pprof: it shows names, labels and stacks.
//
//	http.Handle("/debug/locks", observe.Handler())
//
// The page is one file without any request to elsewhere. It stays live by server-sent events, and
// needs no JavaScript: then it shows the moment at which it was loaded. Its parameters:
//
//	?lock=ID            one lock, with all who hold it and who wait
//	?sort=COLUMN        name, held, waiting, longest, acquired, contended, wait, hold
//	?format=text        the same as plain text of 100 columns, for curl
//	?format=json        a [Snapshot]
//	?format=dot         the graph of who waits for whom, for Graphviz
//	?profile=NAME       farad_held or farad_wait, for go tool pprof: see [Snapshot.WriteProfile]
//
// The handler answers GET and HEAD only, and changes nothing. What it shows of a large snapshot is
// bounded, and it says what it leaves out.
func Handler() http.Handler { return newHandler(Read, &past) }

// maxStreams is how many pages of one handler may be live at a time.
const maxStreams = 16

// A handler serves the page.
type handler struct {
	read    func() *Snapshot
	past    *history
	step    time.Duration // between two events of a stream
	streams chan struct{} // one element for each stream

	mu      sync.Mutex
	servers map[weak.Pointer[http.Server]]<-chan struct{} // closed by Shutdown; guarded by mu
}

func newHandler(read func() *Snapshot, past *history) *handler {
	return &handler{
		read: read, past: past, step: time.Second, streams: make(chan struct{}, maxStreams),
		servers: make(map[weak.Pointer[http.Server]]<-chan struct{}),
	}
}

// policy allows the style and the script of the page, and events from where it came from.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; img-src data:; "+
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash(pageStyle), hash(pageScript))

func hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "observe: the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		http.Error(w, "observe: the query cannot be read", http.StatusBadRequest)
		return
	}
	if name := query.Get("profile"); name != "" {
		h.profile(w, name)
		return
	}
	var id uint64
	if text := query.Get("lock"); text != "" {
		if id, err = strconv.ParseUint(text, 10, 64); err != nil || id == 0 {
			http.Error(w, "observe: lock must be the ID of a lock", http.StatusBadRequest)
			return
		}
	}
	down := h.shutdown(r.Context()) // early: a hook that comes after Shutdown does not run
	format := query.Get("format")
	if format == "events" {
		h.stream(w, r, down, id, query.Get("sort"))
		return
	}
	types := map[string]string{
		"": "text/html", "html": "text/html", "text": "text/plain",
		"json": "application/json", "dot": "text/vnd.graphviz",
	}
	mime, known := types[format]
	if !known {
		http.Error(w, "observe: format must be html, text, json or dot", http.StatusBadRequest)
		return
	}
	body, status := h.render(format, id, query.Get("sort"))
	if status != http.StatusOK {
		mime = "text/plain"
	}
	head.Set("Content-Type", mime+"; charset=utf-8")
	head.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may be gone
}

// render writes all locks, or one, in a format.
func (h *handler) render(format string, id uint64, sortBy string) (body []byte, status int) {
	s := h.snapshot(id)
	v := newView(s)
	var lock *lockView
	if id != 0 {
		v = v.only(id)
		if v == nil {
			return []byte("observe: no such lock: it is not observed any more, or is gone\n"), http.StatusNotFound
		}
		lock = v.Locks[0]
	}
	var err error
	switch format {
	case "text":
		body = []byte(v.text(sortBy))
	case "dot":
		body = []byte(v.dot())
	case "json":
		body, err = json.MarshalIndent(s.only(id).filled(), "", "\t")
		body = append(body, '\n')
	case "events":
		body, err = newPage(v, lock, sortBy, h.past).write("main")
	default:
		body, err = newPage(v, lock, sortBy, h.past).write("page")
	}
	if err != nil {
		return []byte(err.Error() + "\n"), http.StatusInternalServerError
	}
	return body, http.StatusOK
}

// snapshot reads a snapshot, remembers it for the sparklines, and cuts it around the lock asked
// for.
func (h *handler) snapshot(id uint64) *Snapshot {
	s := h.read()
	h.past.add(s)
	return s.bounded(id, maxReadLocks, maxReadRecords)
}

func (h *handler) profile(w http.ResponseWriter, name string) {
	if name != "farad_held" && name != "farad_wait" {
		http.Error(w, "observe: profile must be farad_held or farad_wait", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_ = h.read().WriteProfile(w, name) // who asked may be gone
}
