// Hashtree prints the SHA-256 of every regular file below a directory, in the format of sha256sum:
//
//	go run ./examples/hashtree [flags] DIR
//
// It is an example of package semaphore. A walk feeds a pool of workers, and two semaphores bound
// what the workers use together, however many workers there are:
//
//   - -open bounds the number of open files. A file acquires 1.
//   - -mem bounds the bytes of file content in memory. A file acquires its size. A file larger than
//     the budget acquires all of it and is read piece by piece through a buffer of that size.
//
// The defaults are so small that a tree of a few hundred files reaches both limits. The summary
// shows the largest use of each limit, and how often a worker had to wait. For speed with large
// files, allow more memory.
//
// The program relies on two properties of the semaphore:
//
//   - The queue is first in, first out. A file that needs the whole budget gets it when the files
//     before it are done, however many small files are queued behind it.
//   - A wait ends when its context does. So -timeout and Ctrl-C stop the program at once, wherever
//     its workers wait. (A read that hangs in the system, as on a dead network drive, needs a
//     second Ctrl-C.)
//
// A worker always acquires an open file first and memory second, so workers never wait for each
// other in a circle.
//
// A program that only hashes could stream every file through a small buffer. This one reads a file
// whole if it fits, like a program that parses, compresses or uploads its files. It closes a file
// once it is read, and holds the memory until the work is done. The budget covers buffers in use.
// The garbage collector frees old ones later, so the process is larger.
//
// The output is in the order of the walk, which is lexical and the same for every run. The walk
// stays at most a fixed number of files ahead of the output, so the memory in use does not grow
// with the tree. It holds the names of the current directory, to sort them.
//
// A file or directory that cannot be read is reported and does not stop the run. A file that
// changes while it is read is reported too; its digest is of what was read, as with sha256sum.
// Symbolic links and special files are skipped and counted. The files of version control, such as
// .git, are left out; -vcs includes them.
//
// The digests go to standard output, everything else to standard error. With -json, each line of
// standard output is an object whose "type" is "file", "error" or, on the last line, "summary".
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

// parseArgs reads the command line. It prints an error before it returns it.
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
