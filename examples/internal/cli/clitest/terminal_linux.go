package clitest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal returns a terminal with so many columns. What has been drawn on it is returned by the
// function, which closes it.
func Terminal(t testing.TB, columns int) (terminal *os.File, drawn func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	try(err)
	try(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	try(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}))
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	try(err)
	var out bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&out, master) // An error tells that the terminal is closed.
	}()
	return terminal, func() string {
		_ = terminal.Close()
		<-ended
		_ = master.Close()
		return out.String()
	}
}
