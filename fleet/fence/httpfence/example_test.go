package httpfence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/fence/httpfence"
)

func ExampleHandler() {
	export := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(httpfence.Handler(fence.NewGate(40), export))
	defer server.Close()
	client := http.Client{Transport: httpfence.Transport(nil)}

	// A program gets tokens from its permits.
	newer := fence.Token{Rev: 20, Seq: 1, Lease: 2, Survivors: []int64{2}}
	older := fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1}}
	for _, token := range []fence.Token{newer, older} {
		ctx := fence.NewContext(context.Background(), token)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, http.NoBody)
		response, err := client.Do(r)
		if err != nil {
			fmt.Println(err)
			continue
		}
		_ = response.Body.Close()
		fmt.Println(response.Status)
	}
	// Output:
	// 200 OK
	// 412 Precondition Failed
}
