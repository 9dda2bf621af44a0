package cli_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

// values are the values of the flags of a command with one flag of each kind.
type values struct {
	n     int
	d     time.Duration
	size  int64
	set   bool
	draw  bool
	names []string
}

// parse has such a command read a command line. It wants at most one argument.
func parse(args ...string) (v values, rest []string, stdout, stderr string, err error) {
	v = values{n: 3, d: 90 * time.Second, size: 64 << 20}
	var out, errs bytes.Buffer
	cmd := cli.Command{Name: "prog", About: about, Args: "DIR", Most: 1, Example: "-n 2 ."}
	cmd.Int(&v.n, "n", 1, 1000, "how many there are")
	cmd.Duration(&v.d, "d", 0, "how long it takes")
	cmd.Size(&v.size, "size", "how large it is")
	cmd.Bool(&v.set, "set", "whether it is so")
	cmd.Names(&v.names, "names", []string{"one", "two"}, "which of them")
	cmd.Progress(&v.draw, &errs, "a bar")
	rest, err = cmd.Parse(args, &out, &errs)
	return v, rest, out.String(), errs.String(), err
}

func TestFlagsAreRead(t *testing.T) {
	v, rest, stdout, stderr, err := parse()
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Empty(t, stdout+stderr)
	require.Equal(t, values{n: 3, d: 90 * time.Second, size: 64 << 20, names: []string{"one", "two"}}, v)

	v, rest, _, _, err = parse("-n=1000", "-d", "1500ms", "-size", "1.5MiB", "-set", "-names",
		"two,one", "-progress", "dir")
	require.NoError(t, err)
	require.Equal(t, []string{"dir"}, rest)
	require.Equal(t, values{1000, 1500 * time.Millisecond, 3 << 19, true, true, []string{"two", "one"}}, v)

	for text, want := range map[string]int64{"1": 1, "20KiB": 20 << 10, "20kB": 20_000, "1GiB": 1 << 30, "64 MiB": 64 << 20} {
		v, _, _, _, err := parse("-size", text)
		require.NoError(t, err, text)
		require.Equal(t, want, v.size, text)
	}
}

func TestWhatIsWrongIsSaidInWords(t *testing.T) {
	const number, duration = "want a whole number from 1 to 1000", "want a time from 0s to 24h, such as 500ms, 2s or 1m30s"
	size := "want a size from 1B to " + largest() + ", such as 500kB, 256KiB or 64MiB"
	for _, tt := range []struct {
		args string
		want string
	}{
		{"-n x", `-n cannot be "x": ` + number},
		{"-n=", `-n cannot be "": ` + number},
		{"-n 0", `-n cannot be "0": ` + number},
		{"-n -1", `-n cannot be "-1": ` + number},
		{"-n 1001", `-n cannot be "1001": ` + number},
		{"-n 99999999999999999999", `-n cannot be "99999999999999999999": ` + number},
		{"-n 1.5", `-n cannot be "1.5": ` + number},
		{"-d 3", `-d cannot be "3": ` + duration},
		{"-d -1s", `-d cannot be "-1s": ` + duration},
		{"-d 25h", `-d cannot be "25h": ` + duration},
		{"-d soon", `-d cannot be "soon": ` + duration},
		{"-size abc", `-size cannot be "abc": ` + size},
		{"-size 0", `-size cannot be "0": ` + size},
		{"-size -1", `-size cannot be "-1": ` + size},
		{"-size 64parsecs", `-size cannot be "64parsecs": ` + size},
		{"-size 2TiB", `-size cannot be "2TiB": ` + size},
		{"-size 20EB", `-size cannot be "20EB": ` + size},
		{"-set=perhaps", `-set cannot be "perhaps": want true or false`},
		{"-names three", `-names cannot be "three": want some of one,two, with commas between them`},
		{"-x", "there is no flag -x"},
		{"-n", "-n needs a value"},
		{"a b", "want one DIR, not 2"},
		{"a -n 2", "flags such as -n go before DIR"},
	} {
		_, _, stdout, stderr, err := parse(strings.Split(tt.args, " ")...)
		require.Error(t, err, tt.args)
		require.Equal(t, 2, cli.UsageCode(err))
		require.Empty(t, stdout)
		require.Equal(t, "prog: "+tt.want+"\nusage: prog [flags] [DIR]\nprog -h explains the flags\n", stderr)
	}
}

func TestMissingArgumentsAndThoseTooManyAreTold(t *testing.T) {
	var errs bytes.Buffer
	one := cli.Command{Name: "prog", Args: "DIR", Least: 1, Most: 1}
	_, err := one.Parse(nil, &errs, &errs)
	require.Error(t, err)
	require.Equal(t, "prog: DIR is missing\nusage: prog [flags] DIR\nprog -h explains the flags\n", errs.String())

	errs.Reset()
	none := cli.Command{Name: "prog"}
	_, err = none.Parse([]string{"more"}, &errs, &errs)
	require.Error(t, err)
	require.Equal(t, "prog: there is nothing to be done with \"more\": only flags are wanted\nusage: prog [flags]\n"+
		"prog -h explains the flags\n", errs.String())

	errs.Reset()
	require.NoError(t, none.CheckPath(&errs, t.TempDir()))
	require.Empty(t, errs.String())
	require.Error(t, none.CheckPath(&errs, t.TempDir()+"/missing"))
	require.Contains(t, errs.String(), "prog: there is no file or directory ")
}

func TestHelpIsNotWrong(t *testing.T) {
	for _, arg := range []string{"-h", "-help", "--help"} {
		_, _, stdout, stderr, err := parse(arg)
		require.Equal(t, 0, cli.UsageCode(err))
		require.Empty(t, stderr)
		require.Equal(t, `Prog does nothing, and that in so many words that they need more than one line
of a terminal.

usage: prog [flags] [DIR]
example: go run ./examples/prog -n 2 .

  -d time
      how long it takes
      (a time from 0s to 24h, such as 500ms, 2s or 1m30s; default 1m30s)
  -n number
      how many there are
      (a whole number from 1 to 1000; default 3)
  -names names
      which of them
      (some of one,two, with commas between them; default all of them)
  -progress
      draw a bar; by default if standard error is a terminal
  -set
      whether it is so
  -size size
      how large it is
      (a size from 1B to `+largest()+`, such as 500kB, 256KiB or 64MiB; default 64MiB)
`, stdout)
	}

	terminal, drawn := clitest.Terminal(t, 40)
	narrow := cli.Command{Name: "prog", About: about}
	_, err := narrow.Parse([]string{"-h"}, terminal, terminal)
	require.Error(t, err)
	help := drawn()
	require.Contains(t, help, "Prog does nothing, and that in so many\r\nwords")
	clitest.RequireWidth(t, help, 40)
}

const about = "Prog does nothing, and that in so many words that they need more than one line of a terminal."

// largest is the largest size that a flag may have.
func largest() string {
	if strconv.IntSize == 32 {
		return "1GiB"
	}
	return "1TiB"
}
