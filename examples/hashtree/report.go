package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/farad-go/farad/examples/internal/cli"
)

// seconds is a duration that is a number of seconds in JSON.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// A summary is what is reported at the end, and the last object of -json.
type summary struct {
	Type           string     `json:"type"`
	Files          int64      `json:"files"`             // hashed, including the changed ones
	Bytes          int64      `json:"bytes"`             // hashed, including those of files not finished
	Failed         int64      `json:"failed"`            // files and directories that could not be read
	Changed        int64      `json:"changed"`           // files that changed while they were read
	Skipped        int64      `json:"skipped"`           // neither regular files nor directories
	LeftOut        int64      `json:"leftOut"`           // folders of version control
	Stopped        string     `json:"stopped,omitempty"` // why the run ended early
	Elapsed        seconds    `json:"seconds"`
	MiBPerSecond   float64    `json:"mibPerSecond"`
	FilesPerSecond float64    `json:"filesPerSecond"`
	OpenFiles      limitStats `json:"openFiles"`
	Memory         limitStats `json:"memory"`

	stopped error // what Stopped says
}

func (s *summary) add(res result) {
	switch {
	case res.err != nil:
		s.Failed++
	case res.changed:
		s.Changed++
		fallthrough
	default:
		s.Files++
	}
}

func (s *summary) finish(t *tree, elapsed time.Duration, stopped error) {
	elapsed = max(elapsed, 1) // so that it can be divided by, whatever the resolution of the clock
	s.Type = "summary"
	s.Bytes = t.bytes.Load()
	s.Skipped = t.skipped.Load()
	s.LeftOut = t.leftOut.Load()
	if stopped != nil {
		s.Stopped, s.stopped = stopped.Error(), stopped
	}
	s.Elapsed = seconds(elapsed)
	s.MiBPerSecond = float64(s.Bytes) / (1 << 20) / elapsed.Seconds()
	s.FilesPerSecond = float64(s.Files) / elapsed.Seconds()
	s.OpenFiles = t.openFiles.statistics()
	s.Memory = t.memory.statistics()
}

func (s *summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s in %v: %.1f MiB/s, %s files/s\n",
		english.Plural(int(s.Files), "file", ""), humanize.IBytes(uint64(s.Bytes)),
		roundDuration(s.Elapsed), s.MiBPerSecond, humanize.Comma(int64(s.FilesPerSecond)))
	fmt.Fprintf(&b, "open files: at most %d of %d at a time; %s\n", s.OpenFiles.Peak,
		s.OpenFiles.Limit, s.OpenFiles.waits())
	fmt.Fprintf(&b, "memory: at most %s of %s at a time; %s\n", humanize.IBytes(uint64(s.Memory.Peak)),
		humanize.IBytes(uint64(s.Memory.Limit)), s.Memory.waits())
	fmt.Fprintf(&b, "%d failed, %d changed while read, %d skipped (not regular files)\n", s.Failed,
		s.Changed, s.Skipped)
	if s.LeftOut > 0 {
		fmt.Fprintf(&b, "%s of version control left out (see -vcs)\n", english.Plural(int(s.LeftOut), "folder", ""))
	}
	cli.Stopped(&b, s.stopped)
	return b.String()
}

func (s *limitStats) waits() string {
	if s.Waits == 0 {
		return "no waits"
	}
	return fmt.Sprintf("%s, the longest %v", english.Plural(int(s.Waits), "wait", ""), roundDuration(s.LongestWait))
}

func roundDuration(s seconds) time.Duration { return time.Duration(s).Round(10 * time.Microsecond) }

// A reporter writes what the user sees. It is not safe for use by several goroutines.
type reporter struct {
	stdout, stderr io.Writer
	json           bool
	bar            *cli.Bar // nil if there is none
	barOverStdout  bool     // Standard output goes to where the bar is drawn.

	err error // the first error of writing to standard output, after which no more is written there
}

// result reports one file.
func (r *reporter) result(res result) {
	switch {
	case res.err != nil:
		r.warn(escape(res.path) + ": " + message(res.err))
	case res.changed:
		r.warn(escape(res.path) + ": changed while it was read")
	}
	switch {
	case r.json:
		r.object(newFileObject(res))
	case res.err == nil:
		r.out([]byte(checksumLine(res)))
	}
}

// summary reports the end of the run.
func (r *reporter) summary(sum summary) {
	if r.json {
		r.object(sum)
	}
	if r.err != nil {
		r.warn("cannot write the output: " + r.err.Error())
	}
	r.diagnose(sum.String())
}

// object writes v as a line of JSON.
func (r *reporter) object(v any) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // There is nothing in our types that JSON cannot express.
	}
	r.out(line.Bytes())
}

// out writes to standard output.
func (r *reporter) out(p []byte) {
	if r.err != nil {
		return
	}
	write := func() { _, r.err = r.stdout.Write(p) }
	if r.barOverStdout {
		r.bar.Above(write)
	} else {
		write()
	}
}

func (r *reporter) warn(s string) { r.diagnose("hashtree: " + s + "\n") }

// diagnose writes to standard error.
func (r *reporter) diagnose(s string) {
	r.bar.Above(func() {
		_, _ = io.WriteString(r.stderr, s) // There is nowhere to report an error to.
	})
}

// A fileObject is a line of -json about one file.
type fileObject struct {
	Type string `json:"type"`
	Path string `json:"path"`
	// PathBytes is the path if that is not UTF-8, as JSON strings must be.
	PathBytes []byte `json:"pathBytes,omitempty"`
	Size      *int64 `json:"size,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Changed   bool   `json:"changed,omitempty"`
	Error     string `json:"error,omitempty"`
}

func newFileObject(res result) fileObject {
	o := fileObject{Type: "file", Path: res.path}
	if !utf8.ValidString(res.path) {
		o.PathBytes = []byte(res.path)
	}
	if res.err != nil {
		o.Type = "error"
		o.Error = message(res.err)
		return o
	}
	o.Size = &res.size
	o.SHA256 = hex.EncodeToString(res.sum[:])
	o.Changed = res.changed
	return o
}

// checksumLine is the line that sha256sum prints for a file.
func checksumLine(res result) string {
	path := filepath.ToSlash(res.path)
	if path == "-" {
		path = "./-" // To sha256sum -c the bare name is standard input.
	}
	escaped := escape(path)
	mark := ""
	if escaped != path {
		mark = `\`
	}
	return fmt.Sprintf("%s%x  %s\n", mark, res.sum, escaped)
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)

// escape makes a path fit on a line, as sha256sum does.
func escape(path string) string { return escaper.Replace(path) }

// message is the error without the path, which is reported next to it.
func message(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Op + ": " + pathErr.Err.Error()
	}
	return err.Error()
}
