// Package render draws a report: the HTML page, the plots, and tables and plot of the README.
//
// It imports report and the families whose figures it draws. Read html.go first, then plot.go.
package render
