//go:build farad_observe

package semaphore

import _ "github.com/farad-go/farad/observe/observetest" // finds faults in tests: see its doc.go
