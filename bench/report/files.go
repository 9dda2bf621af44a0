package report

import (
	"fmt"
	"os"
	"strings"
)

// Insert puts text into a file, in the place of what is between the markers.
func Insert(file, begin, end, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(old), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s: no markers %s and %s", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return Write(file, head+begin+text+end+tail)
}

// Write makes the file.
func Write(name, content string) error { return os.WriteFile(name, []byte(content), 0o644) }
