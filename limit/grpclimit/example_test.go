package grpclimit_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/grpclimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// A server works on as many calls at a time as it can. The others wait for a second at most.
func ExampleUnaryServerInterceptor() {
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{Max: 1000})
	wait := grpclimit.WithMaxWait(time.Second)
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpclimit.UnaryServerInterceptor(limiter, wait)),
		grpc.ChainStreamInterceptor(grpclimit.StreamServerInterceptor(limiter, wait)),
	)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	defer server.Stop()
	client, closeClient := dialExample(server)
	defer closeClient()

	show := func() {
		_, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		fmt.Println(status.Code(err))
	}
	show()
	limiter.Semaphore().Close()
	show()
	// Output:
	// OK
	// Unavailable
}

// A client sends a server no more calls at a time than that answers soon.
func ExampleUnaryClientInterceptor() {
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	defer server.Stop()

	limiter := limit.New(semaphore.New(0), &limit.Vegas{Max: 100})
	client, closeClient := dialExample(server,
		grpc.WithChainUnaryInterceptor(grpclimit.UnaryClientInterceptor(limiter)),
		grpc.WithChainStreamInterceptor(grpclimit.StreamClientInterceptor(limiter)),
	)
	defer closeClient()

	ctx, cancel := context.WithCancel(context.Background())
	stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		fmt.Println(err)
		cancel()
		return
	}
	m, err := stream.Recv()
	fmt.Println(m.GetStatus(), err, "in flight:", limiter.InFlight())
	cancel()
	_, err = stream.Recv()
	for limiter.InFlight() > 0 { // until gRPC has finished the stream
		time.Sleep(time.Millisecond)
	}
	fmt.Println(status.Code(err), "in flight:", limiter.InFlight())
	// Output:
	// SERVING <nil> in flight: 1
	// Canceled in flight: 0
}

// Health checks need no permit. The functions of options know the method and the request.
func ExampleCall() {
	cost := func(_ context.Context, c grpclimit.Call) int64 {
		if strings.HasPrefix(c.Method, "/grpc.health.v1.Health/") {
			return 0
		}
		return 1
	}
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{})
	limiter.Semaphore().Close()
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(
		grpclimit.UnaryServerInterceptor(limiter, grpclimit.WithCost(cost))))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	defer server.Stop()
	client, closeClient := dialExample(server)
	defer closeClient()
	m, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(m.GetStatus(), err)
	// Output: SERVING <nil>
}

// Streams that are as short as calls may count as such.
func ExampleOption() {
	end := func(p *limit.Permit, c grpclimit.Call, err error) {
		if c.Method == "/shop.Orders/List" {
			c.Stream = false
		}
		grpclimit.End(p, c, err)
	}
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{})
	grpc.NewServer(grpc.ChainStreamInterceptor(
		grpclimit.StreamServerInterceptor(limiter, grpclimit.WithEnd(end)))).Stop()
	fmt.Println(limiter.Limit())
	// Output: 20
}

// dialExample serves on loopback and returns a client.
func dialExample(server *grpc.Server, opts ...grpc.DialOption) (grpc_health_v1.HealthClient, func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Serve(listener) }()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(listener.Addr().String(), opts...)
	if err != nil {
		panic(err)
	}
	return grpc_health_v1.NewHealthClient(conn), func() { _ = conn.Close() }
}
