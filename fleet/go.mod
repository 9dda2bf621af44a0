module github.com/farad-go/farad/fleet

go 1.26.0

replace github.com/farad-go/farad => ..

require (
	github.com/farad-go/farad v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/pprof v0.0.0-20261016150608-1facf8f91b50 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
