package measure

import (
	"errors"
	"os"
	"runtime/pprof"
)

// Profile begins a profile of the processors, if there is a file for it, and returns what ends it.
func Profile(file string) (end func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file) //nolint:gosec // the caller has named it
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
