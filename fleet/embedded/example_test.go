package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/farad-go/farad/fleet/embedded"
)

func Example() {
	server, err := embedded.Start("") // or the directory of the data
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client, err := server.Client()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	if _, err := client.Put(ctx, "greeting", "hello"); err != nil {
		log.Fatal(err)
	}
	answer, err := client.Get(ctx, "greeting")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer.Kvs[0].Value))
	// Output: hello
}
