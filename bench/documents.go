package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// writeDocuments writes the tables of runs into the documents that the flags name.
func writeDocuments(c config, runs ...*report) (err error) {
	if c.readme != "" {
		err = writeReadme(c.readme, runs...)
	}
	if c.targets != "" {
		err = errors.Join(err, writeTargets(c.targets, runs...))
	}
	return err
}

// insert puts text into a file, in the place of what is between the markers.
func insert(file, begin, end, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(old), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s: no markers %s and %s", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return write(file, head+begin+text+end+tail)
}

// anyVoid fails if one of the runs has no figures to show.
func anyVoid(runs []*report) error {
	for _, r := range runs {
		if r.Smoke {
			return errors.New("the figures of a smoke run are void")
		}
	}
	return nil
}
