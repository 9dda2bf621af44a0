package clitest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal returns a terminal with a number of columns. What has been drawn on it is returned by
// the function, which closes it.
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
	const endOfText = '\x03' // All that was drawn before it has come through when it is read.
	var out string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		out, _ = bufio.NewReader(master).ReadString(endOfText) // An error means that the terminal is closed.
	}()
	return terminal, func() string {
		_, _ = terminal.WriteString(string(endOfText))
		<-ended
		_ = terminal.Close()
		_ = master.Close()
		return strings.TrimSuffix(out, string(endOfText))
	}
}
