package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit/httplimit"
)

// The object of an acquire is its permit.
func TestTheObjectsAreAsDocumented(t *testing.T) {
	if locktest.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	l := fixed(t, 1)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	w := httptest.NewRecorder()
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := httplimit.Handler(l, nothing)
	require.EqualValues(t, 1+2, testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, r) }))

	text := io.NopCloser(strings.NewReader("text"))
	response := &http.Response{StatusCode: http.StatusOK, ContentLength: 4}
	transport := httplimit.Transport(l, roundTrip(func(*http.Request) (*http.Response, error) {
		response.Body = text
		return response, nil
	}))
	require.EqualValues(t, 1+1, testing.AllocsPerRun(100, func() {
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}))
}
