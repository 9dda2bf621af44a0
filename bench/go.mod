module github.com/farad-go/farad/bench

go 1.26.0

require (
	github.com/alitto/pond/v2 v2.7.1
	github.com/farad-go/farad v0.0.0
	github.com/neilotoole/fifomu v0.2.0
	github.com/panjf2000/ants/v2 v2.12.1
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require (
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/farad-go/farad => ../
