package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// A listed module is the go command's description of one.
type listed struct {
	Path, Version, Sum string
	Main               bool
}

// writeSBOM writes the bill of materials of a packed module: every module of the build list that
// its users get, in CycloneDX. Those that none of its public packages imports are excluded: they
// are in no program, but may be in go.sum.
func writeSBOM(ctx context.Context, w *world, path, version, name string) error {
	dir, err := w.folder(ctx, "", path+"/...@"+version)
	if err != nil {
		return err
	}
	const all = "{{if not .Main}}{{.Path}}@{{.Version}}{{end}}"
	out, err := w.output(ctx, dir, nil, "go", "list", "-m", "-f", all, "all")
	if err != nil {
		return err
	}
	fetch := append([]string{"go", "mod", "download", "-json"}, strings.Fields(out)...)
	if out, err = w.output(ctx, dir, nil, fetch...); err != nil {
		return err
	}
	modules, err := decodeModules(out)
	if err != nil {
		return err
	}
	const library = `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`
	if out, err = w.output(ctx, dir, nil, "go", "list", "-f", library, path+"/..."); err != nil {
		return err
	}
	list := []string{"go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}
	for p := range strings.FieldsSeq(out) {
		if !strings.Contains(p+"/", "/internal/") {
			list = append(list, p)
		}
	}
	if out, err = w.output(ctx, dir, nil, list...); err != nil {
		return err
	}
	imported := map[string]bool{}
	for p := range strings.FieldsSeq(out) {
		imported[p] = true
	}
	bom, err := billOf(path, modules, imported)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return errors.Join(err, f.Close())
}

// decodeModules reads what the go command prints of several modules.
func decodeModules(text string) (all []listed, err error) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var m listed
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, m)
	}
}

// billOf returns the bill of the module of this path, which is one of the modules. It has no date:
// the same modules give the same bill.
func billOf(path string, modules []listed, imported map[string]bool) (*cyclonedx.BOM, error) {
	bom := cyclonedx.NewBOM()
	components := []cyclonedx.Component{}
	for _, m := range modules {
		// h1 is the hash of the names and hashes of the files, as in go.sum.
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) == 0 {
			return nil, fmt.Errorf("%s@%s has the hash %q", m.Path, m.Version, m.Sum)
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := cyclonedx.Component{
			BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
			Scope:  cyclonedx.ScopeExcluded,
		}
		if imported[m.Path] {
			c.Scope = cyclonedx.ScopeRequired
		}
		if m.Path == path {
			bom.Metadata = &cyclonedx.Metadata{Component: &c}
			continue
		}
		components = append(components, c)
	}
	if bom.Metadata == nil {
		return nil, fmt.Errorf("the build list has no %s", path)
	}
	bom.Components = &components
	return bom, nil
}
