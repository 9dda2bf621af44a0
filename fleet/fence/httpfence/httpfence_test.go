package httpfence

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/fence"
)

var (
	old   = fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1}}
	young = fence.Token{Rev: 20, Seq: 1, Lease: 2, Survivors: []int64{2}}
)

func post(t *testing.T, url string, token fence.Token) (code int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(fence.NewContext(t.Context(), token), http.MethodPost, url, strings.NewReader("x"))
	require.NoError(t, err)
	client := http.Client{Transport: Transport(nil)}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Empty(t, r.Header.Values(Header), "a transport changes no request")
	return response.StatusCode, string(text)
}

func TestTheTokenOfTheContextIsCheckedBeforeTheHandler(t *testing.T) {
	gate := fence.NewGate(1)
	server := httptest.NewServer(Handler(gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := fence.FromContext(r.Context())
		require.True(t, ok)
		_, _ = io.WriteString(w, token.Order())
	})))
	defer server.Close()
	for range 2 { // the permits come back
		code, body := post(t, server.URL, old)
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, old.Order(), body)
	}
	code, _ := post(t, server.URL, young)
	require.Equal(t, http.StatusOK, code)
	code, body := post(t, server.URL, old)
	require.Equal(t, http.StatusPreconditionFailed, code)
	require.Contains(t, body, "stale")
	require.NoError(t, gate.Begin(young, 1))
	code, _ = post(t, server.URL, young)
	require.Equal(t, http.StatusTooManyRequests, code)
}

func TestARequestWithoutOneGoodTokenIsRefused(t *testing.T) {
	server := httptest.NewServer(Handler(fence.NewGate(1), http.NotFoundHandler()))
	defer server.Close()
	client := http.Client{Transport: Transport(http.DefaultTransport)}
	for _, values := range [][]string{nil, {""}, {"nonsense"}, {old.String(), young.String()}, {old.String() + ", " + young.String()}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		require.NoError(t, err)
		r.Header[Header] = values
		response, err := client.Do(r)
		require.NoError(t, err)
		_ = response.Body.Close()
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
	}
}

func TestAMalformedTokenIsNotSent(t *testing.T) {
	body := &closed{}
	r, err := http.NewRequestWithContext(fence.NewContext(t.Context(), fence.Token{}), http.MethodPost, "http://localhost", body)
	require.NoError(t, err)
	_, err = Transport(nil).RoundTrip(r)
	require.ErrorIs(t, err, fence.ErrMalformed)
	require.True(t, body.closed)
}

type closed struct {
	closed bool
}

func (*closed) Read([]byte) (int, error) { return 0, io.EOF }

func (c *closed) Close() error {
	c.closed = true
	return nil
}

func TestAnEvictionEndsTheContextOfTheRequest(t *testing.T) {
	gate := fence.NewGate(1)
	entered := make(chan struct{})
	server := httptest.NewServer(Handler(gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		http.Error(w, context.Cause(r.Context()).Error(), http.StatusConflict)
	})))
	defer server.Close()
	go func() {
		<-entered
		_ = gate.Check(young)
	}()
	code, body := post(t, server.URL, old)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, body, "stale")
}
