package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// A Command is a program as its user sees it: what it says about itself, and what it understands.
// Its methods add flags, whose variables have their defaults already; then Parse reads the command
// line.
type Command struct {
	Name    string // of the program
	About   string // what it does, in a sentence or two
	Args    string // what stands behind the flags, such as DIR
	Least   int    // how many arguments that are
	Most    int
	Example string // of a command line, without the name

	flags flag.FlagSet
	wrong error // what is wrong with the value of a flag
}

// Int adds a flag for a number.
func (c *Command) Int(p *int, name string, least, most int, usage string) {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	c.add(name, "number", usage, fmt.Sprint(*p), want, func(s string) bool {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return false
		}
		*p = n
		return true
	})
}

// Duration adds a flag for a time, which may be a day at most.
func (c *Command) Duration(p *time.Duration, name string, least time.Duration, usage string) {
	const most = 24 * time.Hour
	want := fmt.Sprintf("a time from %s to %s, such as 500ms, 2s or 1m30s", short(least), short(most))
	c.add(name, "time", usage, short(*p), want, func(s string) bool {
		d, err := time.ParseDuration(s)
		if err != nil || d < least || d > most {
			return false
		}
		*p = d
		return true
	})
}

// short returns 24h for 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size adds a flag for a number of bytes, which may be a tebibyte at most, or a gibibyte where an
// int has 32 bits.
func (c *Command) Size(p *int64, name, usage string) {
	const most = 1 << (20 + 10*strconv.IntSize/32)
	want := fmt.Sprintf("a size from 1B to %s, such as 500kB, 256KiB or 64MiB", size(most))
	c.add(name, "size", usage, size(*p), want, func(s string) bool {
		n, err := humanize.ParseBytes(s)
		if err != nil || n < 1 || n > most {
			return false
		}
		*p = int64(n)
		return true
	})
}

// size returns n in the form in which the flag takes it.
func size(n int64) string {
	return strings.NewReplacer(".0", "", " ", "").Replace(humanize.IBytes(uint64(n)))
}

// Bool adds a flag that is set or not.
func (c *Command) Bool(p *bool, name, usage string) {
	v := c.add(name, "", usage, fmt.Sprint(*p), "true or false", func(s string) bool {
		b, err := strconv.ParseBool(s)
		*p = b
		return err == nil
	})
	v.isBool = true
}

// Progress adds the flag -progress for something that is drawn, by default if stderr is a terminal.
func (c *Command) Progress(p *bool, stderr io.Writer, what string) {
	*p = IsTerminal(stderr)
	c.Bool(p, "progress", "draw "+what+"; by default if standard error is a terminal")
}

// Names adds a flag for some of the names in all, with commas between them.
func (c *Command) Names(p *[]string, name string, all []string, usage string) {
	*p = all
	want := "some of " + strings.Join(all, ",") + ", with commas between them"
	c.add(name, "names", usage, "all of them", want, func(s string) bool {
		var chosen []string
		for name := range strings.SplitSeq(s, ",") {
			if !slices.Contains(all, name) {
				return false
			}
			chosen = append(chosen, name)
		}
		*p = chosen
		return true
	})
}

// A value is a flag. It implements [flag.Value].
type value struct {
	c      *Command
	name   string
	unit   string // what its value is, in one word
	want   string // the same, in more words
	isBool bool
	set    func(string) bool
}

func (c *Command) add(name, unit, usage, def, want string, set func(string) bool) *value {
	v := &value{c: c, name: name, unit: unit, want: want, set: set}
	c.flags.Var(v, name, usage)
	c.flags.Lookup(name).DefValue = def
	return v
}

func (v *value) String() string   { return "" }
func (v *value) IsBoolFlag() bool { return v.isBool }

func (v *value) Set(s string) error {
	if !v.set(s) {
		v.c.wrong = fmt.Errorf("-%s cannot be %q: want %s", v.name, s, v.want)
	}
	return v.c.wrong
}

// Parse reads the command line, and returns the arguments after the flags. It prints an error
// before it returns it. A request for help is an error, too.
func (c *Command) Parse(args []string, stdout, stderr io.Writer) ([]string, error) {
	c.flags.Init(c.Name, flag.ContinueOnError)
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	err := c.flags.Parse(args)
	rest := c.flags.Args()
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.help(stdout)
		return nil, err
	case err != nil:
		err = cmp.Or(c.wrong, inWords(err))
	default:
		err = c.checkArgs(rest)
	}
	if err != nil {
		return nil, c.Refuse(stderr, err)
	}
	return rest, nil
}

// Refuse prints what is wrong with the command line, and returns it.
func (c *Command) Refuse(stderr io.Writer, err error) error {
	fmt.Fprintf(stderr, "%s: %v\n%s\n%s -h explains the flags\n", c.Name, err, c.usage(), c.Name)
	return err
}

// CheckPath refuses a path where there is nothing.
func (c *Command) CheckPath(stderr io.Writer, path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return c.Refuse(stderr, fmt.Errorf("there is no file or directory %q", path))
	}
	return nil
}

// inWords returns an error of package flag in words of its user.
func inWords(err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		return fmt.Errorf("there is no flag %s", name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		return fmt.Errorf("%s needs a value", name)
	}
	return err
}

func (c *Command) checkArgs(rest []string) error {
	for _, arg := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if len(rest) > c.Most && strings.HasPrefix(arg, "-") && c.flags.Lookup(name) != nil {
			return fmt.Errorf("flags such as %s go before %s", arg, cmp.Or(c.Args, "anything else"))
		}
	}
	switch {
	case len(rest) > c.Most && c.Most == 0:
		return fmt.Errorf("there is nothing to be done with %q: only flags are wanted", rest[0])
	case len(rest) > c.Most:
		return fmt.Errorf("want one %s, not %d", c.Args, len(rest))
	case len(rest) < c.Least:
		return fmt.Errorf("%s is missing", c.Args)
	}
	return nil
}

// usage returns how the command is called.
func (c *Command) usage() string {
	args := c.Args
	if args != "" && c.Least == 0 {
		args = "[" + args + "]"
	}
	return strings.TrimSpace("usage: " + c.Name + " [flags] " + args)
}

// help writes what the command does, and what its flags are, in lines that fit w, and 80 columns.
func (c *Command) help(w io.Writer) {
	columns := min(width(w), 80)
	var b strings.Builder
	wrap(&b, columns, "", c.About)
	b.WriteByte('\n')
	wrap(&b, columns, "", c.usage())
	wrap(&b, columns, "", "example: go run ./examples/"+c.Name+" "+c.Example)
	b.WriteByte('\n')
	c.flags.VisitAll(func(f *flag.Flag) {
		v := f.Value.(*value)
		wrap(&b, columns, "  ", "-"+f.Name+" "+v.unit)
		wrap(&b, columns, "      ", f.Usage)
		if !v.isBool {
			wrap(&b, columns, "      ", "("+v.want+"; default "+f.DefValue+")")
		}
	})
	_, _ = io.WriteString(w, b.String()) // There is nowhere to report an error to.
}

// wrap writes the words of a text in lines of at most columns characters.
func wrap(b *strings.Builder, columns int, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == indent:
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
			line += " "
		default:
			b.WriteString(line + "\n")
			line = indent
		}
		line += word
	}
	b.WriteString(line + "\n")
}

// UsageCode returns the exit code of a command that an error of [Command.Parse] has stopped: asking
// for help is not wrong.
func UsageCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	return ExitUsage
}
