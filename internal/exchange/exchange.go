// Package exchange changes what Go files import, and how their tests run, without changing the
// files: the go command reads the changed ones from elsewhere, by an overlay (go help build,
// -overlay).
package exchange

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Imports are the paths that take the place of others. The packages at both have the same name.
type Imports map[string]string

// Source returns a file with its imports exchanged, or nil if it imports none of them. Everything
// else stays where it is: names of imports, build constraints, comments, lines.
func (x Imports) Source(name string, source []byte) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	end := 0 // of what has been copied
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		to, ok := x[path]
		if !ok {
			continue
		}
		at := set.PositionFor(i.Path.Pos(), false).Offset // where it is, whatever a line directive says
		out.Write(source[end:at])
		out.WriteString(strconv.Quote(to))
		end = at + len(i.Path.Value)
	}
	if end == 0 {
		return nil, nil
	}
	out.Write(source[end:])
	return out.Bytes(), nil
}

// An Overlay maps the path of each exchanged file to its other version.
type Overlay map[string]string

// Files exchanges the imports of all Go files of a module and writes them into a folder. It leaves
// out what no package of the module has: what is vendored, nested modules, folders named testdata,
// and names that begin with a dot or an underscore.
func (x Imports) Files(module, folder string) (Overlay, error) {
	o := Overlay{}
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipped(module, path, d)
		case filepath.Ext(path) != ".go" || ignored(d.Name()):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, err := x.Source(path, source)
		if err != nil || changed == nil {
			return err
		}
		return o.add(module, folder, path, changed)
	})
	return o, err
}

// add writes the other version of a file of a module into a folder.
func (o Overlay) add(module, folder, path string, text []byte) error {
	rel, err := filepath.Rel(module, path)
	if err != nil {
		return err
	}
	to := filepath.Join(folder, rel) // the compiler's messages have this name
	o[path] = to
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// skipped returns [fs.SkipDir] for a folder that has no package of the module.
func skipped(module, path string, d fs.DirEntry) error {
	if path == module {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || ignored(d.Name()) || d.Name() == "vendor" {
		return fs.SkipDir
	}
	return nil
}

func ignored(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// Write writes the overlay for the go command.
func (o Overlay) Write(file string) error {
	text, err := json.Marshal(map[string]Overlay{"Replace": o})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
