// Package repo finds the repository that the tools work on, and reads the lists that they keep in
// it.
package repo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Module is the path of the module that the tools judge.
const Module = "github.com/farad-go/farad"

// Shipped are the folders of the modules that a release tags, in the order of their tags: a module
// comes after those that it requires.
var Shipped = []string{
	".", "limit/grpclimit", "observe/otel", "observe/prometheus", "fleet", "fleet/etcd", "fleet/postgres",
	"fleet/fence/grpcfence", "fleet/embedded", "vet",
}

// Enter makes the root of the module the working directory, wherever in the repository the tool was
// started: as a rule in tools, by go -C tools run.
func Enter() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if line, _, _ := strings.Cut(string(text), "\n"); strings.TrimSpace(line) == "module "+Module {
			return os.Chdir(dir)
		}
		if filepath.Dir(dir) == dir {
			return fmt.Errorf("not in the repository of %s", Module)
		}
		dir = filepath.Dir(dir)
	}
}

// ReadReasons reads a list of exceptions. Each line has some columns, which keys turns into the
// exceptions that they stand for, and a reason, separated by tabs. Empty lines and those that begin
// with # are comments. It returns the reasons by exception.
func ReadReasons(name string, columns int, keys func(columns []string) []string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, "\t", columns+1)
		if len(fields) <= columns || strings.TrimSpace(fields[columns]) == "" {
			return nil, fmt.Errorf(
				"%s:%d: expected %d columns separated by tabs, the last a reason",
				name,
				n,
				columns+1,
			)
		}
		for _, key := range keys(fields[:columns]) {
			if _, ok := reasons[key]; ok {
				return nil, fmt.Errorf("%s:%d: %s is listed twice", name, n, key)
			}
			reasons[key] = strings.TrimSpace(fields[columns])
		}
	}
	return reasons, nil
}
