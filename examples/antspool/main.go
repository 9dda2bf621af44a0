// Antspool prints how small gzip makes the files below a directory, by kind of file:
//
//	go run ./examples/antspool [flags] [DIR]
//
// The default DIR is the current directory. The program writes no files: it counts the compressed
// bytes and drops them.
//
// It is an example of package antspool. Compression keeps processors busy, so it runs on an ants
// pool with one goroutine for each (-workers). In front of the pool stands a gate that knows the
// size of each job, which ants does not:
//
//   - -mem bounds the bytes of file content in memory. A job acquires the size of its file, reads
//     the file, compresses it, and releases the memory. A file larger than the budget acquires all
//     of it and is read piece by piece.
//   - The gate is first in, first out: small files that still fit do not overtake a large one.
//   - The walk submits with a context. If the budget is exhausted the walk waits, so it never runs
//     ahead of the work. -timeout and Ctrl-C end that wait, and the work between two chunks of a
//     file.
//
// A file that cannot be read is reported and does not stop the run. The walk skips symbolic links,
// special files and the files of version control, such as .git; -vcs includes the latter.
//
// The table goes to standard output, everything else to standard error. The exit code is one of:
//
//	0    every file was compressed
//	1    some files could not be read, or the table could not be written
//	2    wrong usage, or DIR does not exist
//	124  stopped by -timeout, like timeout(1)
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
//
// Build the program to see the exit code: go run turns every failure into 1.
package main

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/farad-go/farad/examples/internal/cli"
)

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// options is the command line.
type options struct {
	root     string
	workers  int
	level    int
	mem      int64
	vcs      bool
	timeout  time.Duration
	progress bool
}

// parseArgs reads the command line. It prints an error before it returns it.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	opts := options{root: ".", workers: runtime.GOMAXPROCS(0), level: 6, mem: 64 << 20}
	cmd := cli.Command{
		Name: "antspool",
		About: "Antspool tells how small gzip makes the files below a directory, by kind of file. A " +
			"pool of goroutines compresses them; a gate bounds how much of them is in memory. " +
			"DIR is the current directory if it is not given. Nothing is written.",
		Args: "DIR", Most: 1,
		Example: "-workers 4 -mem 1MiB .",
	}
	cmd.Int(&opts.workers, "workers", 1, 10_000, "how many goroutines compress")
	cmd.Int(&opts.level, "level", gzip.BestSpeed, gzip.BestCompression,
		"of compression: 1 is quick, 9 makes the smallest files")
	cmd.Size(&opts.mem, "mem", "how much content of files is in memory at a time; a larger file comes in pieces")
	cmd.Bool(&opts.vcs, "vcs", "compress what belongs to version control, such as .git, too")
	cmd.Duration(&opts.timeout, "timeout", 0, "stop after this time; 0s means never")
	cmd.Progress(&opts.progress, stderr, "a progress bar")
	rest, err := cmd.Parse(args, stdout, stderr)
	if err != nil {
		return opts, err
	}
	if len(rest) == 1 {
		opts.root = rest[0]
	}
	return opts, cmd.CheckPath(stderr, opts.root)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseArgs(args, stdout, stderr)
	if err != nil {
		return cli.UsageCode(err)
	}
	ctx, cancel := cli.WithTimeout(ctx, opts.timeout)
	defer cancel()

	start := time.Now()
	rep := newReporter(stderr)
	files := list(ctx, opts, rep)
	s, err := newSqueezer(opts, rep)
	if err != nil {
		rep.warn(err.Error())
		return cli.ExitFailed
	}
	if opts.progress {
		rep.draw(files, s)
	}
	s.squeezeAll(ctx, files)
	rep.stop()

	stopped := context.Cause(ctx)
	err = rep.finish(stdout, s, stopped, time.Since(start))
	return cli.ExitCode(stopped, err != nil || rep.failures() > 0)
}
