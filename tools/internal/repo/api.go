package repo

import (
	"path"
	"slices"
	"strings"
)

// APIFile returns the name of the file, relative to the root, that says what the module in a folder
// exports. The command api writes it.
func APIFile(module string) string {
	if module == "." {
		module = path.Base(Module)
	}
	return "api/" + strings.ReplaceAll(module, "/", "-") + ".txt"
}

// CompareAPI returns the lines that only the older text has, and those that only the newer has.
func CompareAPI(older, newer string) (gone, added []string) {
	before, now := strings.Split(older, "\n"), strings.Split(newer, "\n")
	only := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(l string) bool { return l == "" || slices.Contains(b, l) })
	}
	return only(before, now), only(now, before)
}
