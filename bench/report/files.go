package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// AnyVoid fails if one of the runs has no figures to show.
func AnyVoid(runs []*Report) error {
	for _, r := range runs {
		if r.Smoke {
			return errors.New("the figures of a smoke run are void")
		}
	}
	return nil
}

// KeptRuns returns the files of the runs whose figures the documents have, in the folder of
// results.
func KeptRuns(folder string) []string {
	var files []string
	names := []string{
		"semaphore", "locks", "array", "tasks", "capacitor", "jobs", "cond", "keyed", "sync", "observed", "overload",
	}
	for _, name := range names {
		files = append(files, filepath.Join(folder, name+".json"))
	}
	return files
}

// Write makes the file.
func Write(name, content string) error { return os.WriteFile(name, []byte(content), 0o644) }
