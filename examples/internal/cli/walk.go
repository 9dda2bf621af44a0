package cli

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// vcs are the names under which systems of version control keep what is theirs in a tree.
var vcs = map[string]bool{
	".git":   true,
	".hg":    true,
	".svn":   true,
	".bzr":   true,
	".jj":    true,
	"_darcs": true,
	"CVS":    true,
}

// A Walk is a way through all files below a directory, in lexical order. Links are not followed,
// but for the root.
type Walk struct {
	Root string
	VCS  bool // also what belongs to version control, such as .git

	// File is called for every regular file, and for every error on the way.
	File func(path string, d fs.DirEntry, err error)
	// Other, if it is not nil, is called for everything else that is not a directory.
	Other func()
	// LeftOut, if it is not nil, is called for what belongs to version control, unless VCS is set.
	LeftOut func()
}

// Run walks until ctx is done.
func (w Walk) Run(ctx context.Context) {
	root := w.Root
	if fi, err := os.Lstat(root); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator)
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case path != root && !w.VCS && vcs[d.Name()]:
			call(w.LeftOut)
			if d.IsDir() {
				return fs.SkipDir
			}
		case err != nil || d.Type().IsRegular():
			w.File(path, d, err)
		case !d.IsDir():
			call(w.Other)
		}
		return nil
	})
}

func call(f func()) {
	if f != nil {
		f()
	}
}
