//go:build unix

package main

import (
	"os"
	"syscall"
)

// openFlags is for a file that the walk saw as a regular one, and that may have been replaced
// since: by a link, which is not to be followed, or by a FIFO, whose opening would wait for a
// writer.
const openFlags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
