package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The files that -out makes, besides the plots.
const (
	outJSON      = "results.json"
	outMarkdown  = "report.md"
	outPage      = "report.html"
	outBenchstat = "benchstat.txt"
)

var outFiles = []string{outPage, outMarkdown, outJSON, outBenchstat}

// retell tells of runs that have been measured before.
func retell(c config, stdout io.Writer) error {
	var runs []*report
	for _, file := range c.from {
		r, err := load(file)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if c.readme != "" || c.targets != "" {
		return writeDocuments(c, runs...)
	}
	r := runs[0]
	if c.plot != "" {
		if err := drawPlots(c.plot, r); err != nil {
			return fmt.Errorf("%s: %w", c.from[0], err)
		}
		return nil
	}
	if c.compare == "" {
		if _, err := io.WriteString(stdout, r.text()); err != nil {
			return err
		}
		return publish(c, r, nil, stdout)
	}
	was, err := load(c.compare)
	if err != nil {
		return err
	}
	return publish(c, r, was, stdout)
}

// publish writes the files that the flags name, and what has moved since another run.
func publish(c config, r, was *report, stdout io.Writer) error {
	if was != nil {
		if was.Smoke || r.Smoke {
			return errors.New("-compare: the figures of a smoke run are void")
		}
		r.compared = compared(was, r)
		if _, err := io.WriteString(stdout, r.compared.text()); err != nil {
			return err
		}
	}
	raw, err := r.json()
	if err != nil {
		return err
	}
	if c.json != "" {
		err = write(c.json, raw)
	}
	if c.markdown != "" {
		err = errors.Join(err, write(c.markdown, r.markdown()))
	}
	if c.out != "" {
		err = errors.Join(err, writeAll(c.out, r, raw))
	}
	return errors.Join(err, writeDocuments(c, r))
}

// writeAll makes everything that is written of a run.
func writeAll(folder string, r *report, raw string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	drawings := append(r.ratioDrawings(), r.capacitorDrawings()...)
	page, err := r.page(drawings)
	return errors.Join(err,
		write(filepath.Join(folder, outPage), page),
		write(filepath.Join(folder, outMarkdown), r.markdown()),
		write(filepath.Join(folder, outJSON), raw),
		write(filepath.Join(folder, outBenchstat), r.benchstat()),
		saveDrawings(folder, drawings))
}

// write makes the file.
func write(name, content string) error { return os.WriteFile(name, []byte(content), 0o644) }
