package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/internal/xsync/sleep"
)

// portableTag is the build tag with which all goroutines sleep in channels.
const portableTag = "farad_portable"

// portableCommand has the portable build measure the same and leave its rounds in a file.
func portableCommand(c config, file string) []string {
	return []string{
		"go", "run", "-tags", portableTag, ".",
		"-rounds", strconv.Itoa(c.rounds),
		"-window", c.Window.String(),
		"-warmup", c.Warmup.String(),
		"-procs", strconv.Itoa(c.procs),
		"-run", c.only.String(),
		"-json", file,
	}
}

// portableFile is where the portable build leaves its rounds if this one leaves its in a file.
func portableFile(file string) string { return strings.TrimSuffix(file, ".json") + "-portable.json" }

// runPortable measures by the portable build, in a process of its own, and returns its report.
func runPortable(c config, stderr io.Writer) (was *report.Report, err error) {
	if !sleep.Parks() {
		return nil, errors.New("-builds: this build is the portable one, or FARAD_SLEEP is set")
	}
	folder, err := os.MkdirTemp("", "farad-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "portable.json")
	if c.json != "" {
		file = portableFile(c.json)
	}
	args := portableCommand(c, file)
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return report.Load(file)
}
