module github.com/farad-go/farad/fleet/fence/grpcfence

go 1.26.0

replace (
	github.com/farad-go/farad => ../../..
	github.com/farad-go/farad/fleet => ../..
)

require (
	github.com/farad-go/farad/fleet v0.1.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/grpc v1.83.2
)

require (
	github.com/farad-go/farad v0.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
