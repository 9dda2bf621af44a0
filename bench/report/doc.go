// Package report holds everything that a run has found out: as JSON, as text, as Markdown, in the
// format of benchstat, beside another run, and beside all targets.
//
// It imports the families of workloads. Read report.go first. lines.go is the view that does not
// know families: the overview, the comparison and the plots are made of lines.
package report
