//go:build !unix

package main

import "os"

const openFlags = os.O_RDONLY
