// Hashtree prints the SHA-256 of every regular file below a directory, in the format of sha256sum:
//
//	go run ./examples/hashtree [flags] DIR
//
// It is an example of package semaphore in a program of a realistic shape: a walk feeds a pool of
// workers, and two semaphores bound what the workers use together, however many there are of them.
//
//   - -open bounds the files open at a time. It is a plain count: a file asks for 1.
//   - -mem bounds the bytes of file content held at a time. It is weighted: a file asks for its
//     size. A file larger than the budget asks for all of it and is streamed through a buffer of
//     that size, one piece after the other.
//
// The defaults are so small that both limits are reached even in a tree of a few hundred files. The
// summary says how much of each was in use at most, and how often a worker had to wait. To be quick
// with large files, give it more memory.
//
// Two properties of the semaphore carry the program:
//
//   - The queue is strictly first-in, first-out. A file that needs the whole budget gets it once
//     the files before it are done, however many small ones are ready behind it.
//   - A wait ends when its context does, so -timeout and Ctrl-C stop the program at once, wherever
//     its workers are. (Only a read in which the system hangs, as of a dead network drive, has to
//     be ended by a second Ctrl-C.)
//
// A worker asks for an open file first and for memory second, always, so two workers never wait for
// each other.
//
// A program that only hashes could stream every file through one small buffer. This one reads a
// file whole, if it fits, as a program has to that parses, compresses or uploads its files: so a
// file is closed once it is read, and its memory is held until the work on it is done. The budget
// is for buffers in use: the garbage collector frees the used ones later, so the process as a whole
// is larger.
//
// What is printed comes in the order of the walk, which is lexical, and the same for every run. The
// walk stays at most a fixed number of files ahead of the output, so that the memory in use does
// not grow with the tree. It does hold the names in the directory it is in, to sort them.
//
// A file, or directory, that cannot be read is reported and does not stop the run. Neither does a
// file that changes while it is read: its digest is of what was read, as with sha256sum, and it is
// reported. Symbolic links and special files are skipped and counted. What belongs to version
// control, such as .git, is left out; -vcs takes it in.
//
// The digests go to standard output, everything else to standard error. With -json each line of
// standard output is an object whose "type" is "file", "error" or, in the last line, "summary".
//
// The exit code is one of:
//
//	0    every file was hashed
//	1    some files could not be read or changed meanwhile, or the output could not be written
//	2    wrong usage, or there is no DIR
//	124  stopped by -timeout, like timeout(1)
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
//
// To see it, build the program: go run makes a 1 of every failure.
package main

import (
	"cmp"
	"context"
	"io"
	"os"
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
	open     int
	mem      int64
	vcs      bool
	timeout  time.Duration
	json     bool
	progress bool
}

// parseArgs reads the command line. It has told the user about an error it returns.
func parseArgs(args []string, stdout, stderr io.Writer) (options, error) {
	opts := options{workers: 16, open: 4, mem: 128 << 10}
	cmd := cli.Command{
		Name: "hashtree",
		About: "Hashtree prints the SHA-256 of every file below a directory. Its workers share two " +
			"limits: how many files are open, and how many bytes of them are in memory.",
		Args: "DIR", Least: 1, Most: 1,
		Example: "-open 8 -mem 1MiB .",
	}
	cmd.Int(&opts.workers, "workers", 1, 10_000, "how many files are worked on at a time")
	cmd.Int(&opts.open, "open", 1, 10_000, "how many files are open at a time")
	cmd.Size(&opts.mem, "mem", "how much content of files is in memory at a time; a larger file comes alone, in pieces")
	cmd.Bool(&opts.vcs, "vcs", "hash what belongs to version control, such as .git, too")
	cmd.Duration(&opts.timeout, "timeout", 0, "stop after this time; 0s means never")
	cmd.Bool(&opts.json, "json", "print a JSON object on each line")
	cmd.Progress(&opts.progress, stderr, "a progress bar")
	rest, err := cmd.Parse(args, stdout, stderr)
	if err != nil {
		return opts, err
	}
	opts.root = rest[0]
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
	t := newTree(opts.root, opts.workers, int64(opts.open), opts.mem)
	t.vcs = opts.vcs
	var bar *cli.Bar
	stopBar := func() {}
	if opts.progress {
		bar, stopBar = startProgress(t, stderr)
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
	stopBar()
	rep.bar = nil
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
