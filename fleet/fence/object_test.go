package fence

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// bucket is a store of one object over HTTP. Its ETag is the hash of the content, as that of S3.
type bucket struct {
	mu      sync.Mutex
	exists  bool
	content []byte
	fence   string // in the metadata
	writes  []string
}

func (b *bucket) etag() string { return fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(b.content))) }

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method == http.MethodPut {
		match := r.Header.Get("If-Match")
		if r.Header.Get("If-None-Match") == "*" && b.exists || match != "" && (!b.exists || match != b.etag()) {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		b.content, _ = io.ReadAll(r.Body)
		b.fence, b.exists = r.Header.Get("X-Amz-Meta-Fence"), true
		b.writes = append(b.writes, b.fence)
		return
	}
	if !b.exists {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", b.etag())
	w.Header().Set("X-Amz-Meta-Fence", b.fence)
	_, _ = w.Write(b.content)
}

// write is one write to a bucket. Its fence is the first line of the content, or beside it.
type write struct {
	url     string
	body    string
	beside  bool
	between func() // happens between Stat and Put
}

func (o write) Stat(ctx context.Context) (fence, version string, err error) {
	if o.between != nil {
		defer o.between()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url, nil)
	if err != nil {
		return "", "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return "", "", nil
	}
	content, err := io.ReadAll(response.Body)
	if o.beside {
		return response.Header.Get("X-Amz-Meta-Fence"), response.Header.Get("ETag"), err
	}
	fence, _, _ = strings.Cut(string(content), "\n")
	return fence, response.Header.Get("ETag"), err
}

func (o write) Put(ctx context.Context, fence, version string) error {
	content := fence + "\n" + o.body
	if o.beside {
		content = o.body
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, o.url, bytes.NewReader([]byte(content)))
	if err != nil {
		return err
	}
	r.Header.Set("X-Amz-Meta-Fence", fence)
	if version == "" {
		r.Header.Set("If-None-Match", "*")
	} else {
		r.Header.Set("If-Match", version)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusPreconditionFailed:
		return ErrChanged
	}
	return errors.New(response.Status)
}

func TestAnObjectTakesNoWriteWithASmallerToken(t *testing.T) {
	b := &bucket{}
	server := httptest.NewServer(b)
	defer server.Close()
	old, young := grant(10, 1), grant(20, 2)
	require.NoError(t, Write(t.Context(), write{url: server.URL, body: "old"}, old))
	require.NoError(t, Write(t.Context(), write{url: server.URL, body: "old again"}, old))
	require.NoError(t, Write(t.Context(), write{url: server.URL, body: "young"}, young))
	err := Write(t.Context(), write{url: server.URL, body: "old, late"}, old)
	var stale *StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, Token{Rev: 20, Seq: 1}, stale.By)
	require.Equal(t, young.Order()+"\nyoung", string(b.content))

	b.content = []byte("something else")
	require.ErrorIs(t, Write(t.Context(), write{url: server.URL}, young), ErrMalformed)
	require.ErrorIs(t, Write(t.Context(), write{url: server.URL}, Token{}), ErrMalformed)
	require.Equal(t, "something else", string(b.content))
}

// A writer stops between Stat and Put, and another one writes. The content is then another, none at
// all before, or the very same.
func TestAWriterThatStopsBeforeItsPutWritesNothing(t *testing.T) {
	for _, beside := range []bool{false, true} {
		for _, first := range []string{"", "same", "other"} {
			t.Run(fmt.Sprintf("fence beside the content: %v, content before: %q", beside, first), func(t *testing.T) {
				b := &bucket{}
				server := httptest.NewServer(b)
				defer server.Close()
				young := grant(20, 2)
				if first != "" {
					o := write{url: server.URL, body: first, beside: beside}
					require.NoError(t, Write(t.Context(), o, grant(5, 3)))
				}
				once := sync.OnceFunc(func() {
					for _, body := range []string{"same", "between", "same"} {
						o := write{url: server.URL, body: body, beside: beside}
						require.NoError(t, Write(t.Context(), o, young))
					}
				})
				paused := write{url: server.URL, body: "old", beside: beside, between: once}
				err := Write(t.Context(), paused, grant(10, 1))
				if beside && first == "same" {
					// What Object warns of: the content has returned, and its ETag with it.
					require.NoError(t, err)
					require.Equal(t, "old", string(b.content))
					return
				}
				require.ErrorIs(t, err, ErrStale)
				require.Contains(t, string(b.content), "same")
				require.Equal(t, young.Order(), b.writes[len(b.writes)-1])
			})
		}
	}
}

func TestWritersWithManyTokensLeaveTheGreatest(t *testing.T) {
	b := &bucket{}
	server := httptest.NewServer(b)
	defer server.Close()
	const tokens = 20
	var writers sync.WaitGroup
	for i := range int64(tokens) {
		writers.Go(func() {
			if err := Write(t.Context(), write{url: server.URL, body: "x"}, grant(1+i*7%tokens, 1+i)); err != nil {
				require.ErrorIs(t, err, ErrStale)
			}
		})
	}
	writers.Wait()
	require.IsIncreasing(t, b.writes)
	require.Equal(t, grant(tokens, 1).Order(), b.writes[len(b.writes)-1])
}

// changing is an object that somebody else always writes first.
type changing struct{ puts int }

func (o *changing) Stat(context.Context) (fence, version string, err error) { return "", "1", nil }

func (o *changing) Put(context.Context, string, string) error {
	o.puts++
	return ErrChanged
}

// broken is an object whose store fails.
type broken struct{ stat, put error }

func (o broken) Stat(context.Context) (fence, version string, err error) { return "", "", o.stat }

func (o broken) Put(context.Context, string, string) error { return o.put }

func TestWriteEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := &changing{}
	require.ErrorIs(t, Write(ctx, o, grant(1, 1)), context.Canceled)
	require.Equal(t, 1, o.puts)
	oops := errors.New("oops")
	require.ErrorIs(t, Write(t.Context(), broken{stat: oops}, grant(1, 1)), oops)
	require.ErrorIs(t, Write(t.Context(), broken{put: oops}, grant(1, 1)), oops)
}
