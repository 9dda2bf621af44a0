package records

// Look is package observe's: it has what there is looked at and reported, and returns after that.
// Package observetest calls it.
var Look func()
