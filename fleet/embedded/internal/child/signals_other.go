//go:build !unix

package child

import (
	"errors"
	"os"
)

func pause(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }
