//go:build !interleave

package httplimit_test

// The clock of limits stands still in a build for the explorer.

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// The semaphore knows at which rate its line moves.
func TestRetryAfterIsWhatTheLineLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fixed(t, 1, semaphore.WithQueue(semaphore.Queue{MaxWaiting: 4}))
		handler := httplimit.Handler(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(1500 * time.Millisecond)
		}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		var all sync.WaitGroup
		defer all.Wait()
		for range 5 { // one is served and four wait
			all.Go(func() {
				for range 30 {
					handler.ServeHTTP(httptest.NewRecorder(), r)
				}
			})
		}
		time.Sleep(100 * time.Second) // so that the rate is known
		var refusal *semaphore.Refusal
		require.ErrorAs(t, l.Semaphore().Acquire(t.Context(), 1), &refusal)
		require.NotZero(t, refusal.RetryAfter)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, strconv.Itoa(int(math.Ceil(refusal.RetryAfter.Seconds()))), w.Header().Get("Retry-After"))
	})
}

// recorder is a controller that keeps the samples.
type recorder struct{ samples []limit.Sample }

func (*recorder) Limit() int64 { return 2 }

func (r *recorder) Update(s limit.Sample) int64 {
	r.samples = append(r.samples, s)
	return 2
}

func TestTheEndOfAPermitFollowsFromTheResult(t *testing.T) {
	events := http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	for _, c := range []struct {
		want string
		r    httplimit.Result
	}{
		{"success", httplimit.Result{Status: 200}},
		{"success", httplimit.Result{Status: 302}},
		{"success", httplimit.Result{Status: 404}},
		{"success", httplimit.Result{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}}},
		{"dropped", httplimit.Result{Status: 429}},
		{"dropped", httplimit.Result{Status: 503}},
		{"dropped", httplimit.Result{Status: 504}},
		{"dropped", httplimit.Result{Err: context.DeadlineExceeded}},
		{"dropped", httplimit.Result{Err: os.ErrDeadlineExceeded}},
		{"dropped", httplimit.Result{Status: 200, Err: context.DeadlineExceeded}},
		{"ignore", httplimit.Result{Status: 500}},
		{"ignore", httplimit.Result{Status: 502}},
		{"ignore", httplimit.Result{Status: 200, Err: context.Canceled}},
		{"ignore", httplimit.Result{Status: 503, Err: context.Canceled}},
		{"ignore", httplimit.Result{Err: io.ErrUnexpectedEOF}},
		{"ignore", httplimit.Result{Status: 101}},
		{"ignore", httplimit.Result{Status: 200, Header: http.Header{"Content-Type": {"Text/Event-Stream"}}}},
		{"ignore", httplimit.Result{Status: 200, Header: events}},
		{"ignore", httplimit.Result{Status: 200, Header: events, Err: context.DeadlineExceeded}},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen := new(recorder)
			l := limit.New(semaphore.New(0), seen, limit.WithWindow(0, 1))
			l.Start(0).Dropped() // opens a window, which is long enough then
			time.Sleep(time.Hour)
			p, ok := l.TryAcquire(1)
			require.True(t, ok)
			time.Sleep(time.Second)
			httplimit.End(p, c.r)
			require.Zero(t, l.InFlight())
			got := "ignore"
			if len(seen.samples) > 1 {
				got = map[bool]string{true: "dropped", false: "success"}[seen.samples[1].Dropped]
			}
			require.Equal(t, c.want, got, "%+v", c.r)
		})
	}
}
