// Hashtree prints the SHA-256 of every regular file below a directory, in the format of sha256sum:
//
//	go run ./examples/hashtree [flags] DIR
//
// It is an example of package semaphore in a program of a realistic shape: a walk feeds a pool of workers, and two
// semaphores bound what the workers use together, however many there are of them.
//
//   - -open bounds the files open at a time. It is a plain count: a file asks for 1.
//   - -mem bounds the bytes of file content held at a time. It is weighted: a file asks for its size. A file larger
//     than the budget asks for all of it and is streamed through a buffer of that size, one piece after the other.
//
// Two properties of the semaphore carry the program:
//
//   - The queue is strictly first-in, first-out. A file that needs the whole budget gets it once the files before it
//     are done, however many small ones are ready behind it.
//   - A wait ends when its context does, so -timeout and Ctrl-C stop the program at once, wherever its workers are.
//     (Only a read in which the system hangs, as of a dead network drive, has to be ended by a second Ctrl-C.)
//
// A worker asks for an open file first and for memory second, always, so two workers never wait for each other.
//
// A program that only hashes could stream every file through one small buffer. This one reads a file whole, if it fits,
// as a program has to that parses, compresses or uploads its files: so a file is closed once it is read, and its memory
// is held until the work on it is done. The budget is for buffers in use: the garbage collector frees the used ones
// later, so the process as a whole is larger.
//
// What is printed comes in the order of the walk, which is lexical, and the same for every run. The walk stays at most
// a fixed number of files ahead of the output, so that the memory in use does not grow with the tree. It does hold the
// names in the directory it is in, to sort them.
//
// A file, or directory, that cannot be read is reported and does not stop the run. Neither does a file that changes
// while it is read: its digest is of what was read, as with sha256sum, and it is reported. Symbolic links and special
// files are skipped and counted.
//
// The digests go to standard output, everything else to standard error. With -json each line of standard output is an
// object whose "type" is "file", "error" or, in the last line, "summary".
//
// The exit code is one of:
//
//	0    every file was hashed
//	1    some files could not be read or changed meanwhile, or the output could not be written
//	2    wrong usage
//	124  stopped by -timeout, like timeout(1)
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
//
// To see it, build the program: go run makes a 1 of every failure.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/farad-go/farad/examples/internal/cli"
)

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line.
type options struct {
	root     string
	workers  int
	open     int64
	mem      cli.ByteSize
	timeout  time.Duration
	json     bool
	progress bool
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	procs := runtime.GOMAXPROCS(0)
	opts := options{mem: 64 << 20}
	fs := flag.NewFlagSet("hashtree", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&opts.workers, "workers", 4*procs, "files worked on at a time")
	fs.Int64Var(&opts.open, "open", int64(2*procs), "files open at a time")
	fs.Var(&opts.mem, "mem", "`bytes` of file content in memory at a time, such as 64MiB")
	fs.DurationVar(&opts.timeout, "timeout", 0, "stop after this time; 0 means never")
	fs.BoolVar(&opts.json, "json", false, "print JSON lines")
	fs.BoolVar(&opts.progress, "progress", cli.IsTerminal(stderr), "show a progress bar; the default is whether standard"+
		" error is a terminal")
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: hashtree [flags] DIR")
		fs.PrintDefaults()
	}
	err := cli.Parse(fs, args, func() error {
		switch {
		case fs.NArg() != 1:
			return fmt.Errorf("want one directory, got %d arguments", fs.NArg())
		case opts.workers < 1:
			return errors.New("-workers must be at least 1")
		case opts.open < 1:
			return errors.New("-open must be at least 1")
		case opts.mem < 1:
			return errors.New("-mem must be at least 1 byte")
		case opts.timeout < 0:
			return errors.New("-timeout must not be negative")
		}
		return nil
	})
	opts.root = fs.Arg(0)
	return opts, err
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseArgs(args, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	ctx, cancel := cli.WithTimeout(ctx, opts.timeout)
	defer cancel()

	start := time.Now()
	t := newTree(opts.root, opts.workers, opts.open, int64(opts.mem))
	var bar *progress
	if opts.progress {
		bar = startProgress(t, stderr)
		defer bar.stop()
	}
	rep := &reporter{stdout: stdout, stderr: stderr, json: opts.json, bar: bar, barOverStdout: cli.IsTerminal(stdout)}

	var sum summary
	for res := range t.hashAll(ctx) {
		sum.add(res)
		rep.result(res)
		if rep.err != nil {
			break
		}
	}
	stopped := cmp.Or(rep.err, context.Cause(ctx))
	if bar != nil {
		bar.stop()
		rep.bar = nil
	}
	sum.finish(t, time.Since(start), stopped)
	rep.summary(sum)
	if rep.err != nil {
		return cli.ExitFailed
	}
	return exitCode(sum, stopped)
}

func exitCode(sum summary, stopped error) int {
	return cli.ExitCode(stopped, sum.Failed > 0 || sum.Changed > 0)
}
