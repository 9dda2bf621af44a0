package observetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// reasonsName is where the reports stand that are no faults.
const reasonsName = "testdata/observetest.txt"

// reasons are those of a package: the keys of reports that are no faults.
type reasons struct {
	err   error // of the file
	lines []reason
}

type reason struct {
	line int
	key  string
	rare bool // it need not be used
	used bool
}

func readReasons() *reasons {
	text, err := os.ReadFile(reasonsName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	r := &reasons{err: err}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, why, _ := strings.Cut(line, "\t")
		why = strings.TrimSpace(why)
		if why == "" {
			r.err = fmt.Errorf("%s:%d: expected a report, a tab, and a reason", reasonsName, n)
			continue
		}
		r.lines = append(r.lines, reason{n, strings.TrimSpace(key), strings.HasPrefix(why, "sometimes"), false})
	}
	return r
}

// have reports whether the report with a key is no fault.
func (r *reasons) have(key string) bool {
	i := slices.IndexFunc(r.lines, func(x reason) bool { return x.key == key })
	if i >= 0 {
		r.lines[i].used = true
	}
	return i >= 0
}

// unused returns a complaint about each line that was not needed.
func (r *reasons) unused() (texts []string) {
	for _, x := range r.lines {
		if !x.used && !x.rare {
			texts = append(texts, fmt.Sprintf("%s:%d: nothing was found that this is the reason of: %s\n",
				reasonsName, x.line, x.key))
		}
	}
	return texts
}
