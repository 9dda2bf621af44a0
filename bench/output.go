package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/farad-go/farad/bench/render"
	"github.com/farad-go/farad/bench/report"
)

// The files that -out makes, besides the plots.
const (
	outJSON      = "results.json"
	outMarkdown  = "report.md"
	outPage      = "report.html"
	outBenchstat = "benchstat.txt"
)

var outFiles = []string{outPage, outMarkdown, outJSON, outBenchstat}

// retell reports runs that have been measured before.
func retell(c config, stdout io.Writer) error {
	var runs []*report.Report
	for _, file := range c.from {
		r, err := report.Load(file)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if c.page != "" {
		return report.WritePage(c.page, runs...)
	}
	r := runs[0]
	if c.compare == "" {
		if _, err := io.WriteString(stdout, r.Text()); err != nil {
			return err
		}
		return publish(c, r, nil, stdout)
	}
	was, err := report.Load(c.compare)
	if err != nil {
		return err
	}
	return publish(c, r, was, stdout)
}

// publish writes the files that the flags name, and what has moved since another run.
func publish(c config, r, was *report.Report, stdout io.Writer) error {
	if was != nil {
		if was.Smoke || r.Smoke {
			return errors.New("-compare: the figures of a smoke run are void")
		}
		r.Compared = report.Compared(was, r)
		if _, err := io.WriteString(stdout, r.Compared.Text()); err != nil {
			return err
		}
	}
	raw, err := r.JSON()
	if err != nil {
		return err
	}
	if c.json != "" {
		err = report.Write(c.json, raw)
	}
	if c.out != "" {
		err = errors.Join(err, writeAll(c.out, r, raw))
	}
	return err
}

// writeAll makes everything that is written of a run.
func writeAll(folder string, r *report.Report, raw string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	drawings := append(render.RatioDrawings(r), render.CapacitorDrawings(r)...)
	page, err := render.Page(r, drawings)
	return errors.Join(err,
		report.Write(filepath.Join(folder, outPage), page),
		report.Write(filepath.Join(folder, outMarkdown), r.Markdown()),
		report.Write(filepath.Join(folder, outJSON), raw),
		report.Write(filepath.Join(folder, outBenchstat), r.Benchstat()),
		render.SaveDrawings(folder, drawings))
}
