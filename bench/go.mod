module github.com/farad-go/farad/bench

go 1.26.0

require (
	github.com/farad-go/farad v0.0.0
	golang.org/x/sync v0.24.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/farad-go/farad => ../
