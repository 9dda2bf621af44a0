package grpcfence_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/fence/grpcfence"
)

func Example() {
	gate := fence.NewGate(40)
	server := grpc.NewServer(
		grpc.UnaryInterceptor(grpcfence.UnaryServerInterceptor(gate)),
		grpc.StreamInterceptor(grpcfence.StreamServerInterceptor(gate)),
	)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer()) // your service
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClientInterceptor),
		grpc.WithStreamInterceptor(grpcfence.StreamClientInterceptor),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	client := grpc_health_v1.NewHealthClient(conn)

	// A program gets tokens from its permits.
	newer := fence.Token{Rev: 20, Seq: 1, Lease: 2, Survivors: []int64{2}}
	older := fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1}}
	for _, token := range []fence.Token{newer, older} {
		_, err := client.Check(fence.NewContext(context.Background(), token), &grpc_health_v1.HealthCheckRequest{})
		fmt.Println(status.Code(err))
	}
	// Output:
	// OK
	// Aborted
}
