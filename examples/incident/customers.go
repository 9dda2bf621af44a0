package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// openTo lets customers in, who come over HTTP to the shop at url.
func (s *shop) openTo(url string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	visit := func(path string) {
		request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, url+path, http.NoBody)
		if err != nil {
			return
		}
		answer, err := client.Do(request)
		if err != nil {
			return // the shop closes
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	customers := func(n int, pause time.Duration, paths ...string) {
		for range n {
			go func() {
				for s.ctx.Err() == nil {
					visit(paths[rand.IntN(len(paths))])
					work(s.ctx, pause/2+rand.N(pause))
				}
			}()
		}
	}
	customers(6, 20*time.Millisecond, "/search?for=shoes", "/search?for=hats", "/search?for=nothing")
	customers(6, 20*time.Millisecond, "/pay?from=ada", "/pay?from=ben")
	customers(2, 100*time.Millisecond, "/thumbnail")
	customers(4, 20*time.Millisecond, "/price")
	s.crowd = func() { customers(200, 10*time.Millisecond, "/thumbnail") }
	go s.updatePrices()
}
