// Command farad-observe has the tests of a whole module run with package observetest, and with our
// sync and semaphore in the place of the standard library's and that of golang.org/x/sync. It
// changes no file of the module:
//
//	go get -tool github.com/farad-go/farad/observe/observetest/farad-observe
//	GOFLAGS=$(go tool farad-observe) go test ./...
//
// It prints a flag for the go command, -overlay, which names a list of files that the compiler
// reads in the place of others. They are in the user's cache folder. Each package of the module
// gets a TestMain in them that calls [observetest.Main], or has its own TestMain use
// [observetest.Wrap]. A TestMain that does more with its argument than to run the tests is left
// alone, and named on the standard error. Nested modules and what is vendored stay as they are.
//
// With -imports=false the imports stay as they are. That is for a module that passes a lock of the
// standard library to others, and so does not compile with ours.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/farad-go/farad/internal/exchange"
	// What the tests will import: so go.mod requires it, and the vendor folder has it.
	_ "github.com/farad-go/farad/observe/observetest"
	_ "github.com/farad-go/farad/sync"
	_ "github.com/farad-go/farad/sync/semaphore"
)

const module = "github.com/farad-go/farad"

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "farad-observe:", err)
		os.Exit(2)
	}
}

// run writes the overlay of the module around the working folder, and prints the flag.
func run(args []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("farad-observe", flag.ContinueOnError)
	flags.SetOutput(problems)
	imports := flags.Bool("imports", true, "exchange the imports of sync and semaphore")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errors.New("it takes no packages: GOFLAGS=$(go tool farad-observe) go test ./package")
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	folder, err := folderOf(root)
	if err != nil {
		return err
	}
	exchanged := exchange.Imports{}
	if *imports {
		exchanged["sync"] = module + "/sync"
		exchanged["golang.org/x/sync/semaphore"] = module + "/sync/semaphore"
	}
	overlay, err := exchanged.Files(root, folder)
	if err != nil {
		return err
	}
	left, err := overlay.Observe(root, folder, module+"/observe/observetest")
	if err != nil {
		return err
	}
	for _, name := range left {
		fmt.Fprintln(problems, "not observed, because its TestMain does more than run the tests:", name)
	}
	name := filepath.Join(folder, "overlay.json")
	if err := overlay.Write(name); err != nil {
		return err
	}
	option := "-overlay=" + filepath.ToSlash(name)
	if strings.ContainsAny(option, " \t") {
		option = "'" + option + "'"
	}
	_, err = fmt.Fprintln(out, option)
	return err
}

// moduleRoot returns the folder of go.mod, by the name that the go command has for it.
func moduleRoot() (string, error) {
	text, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := string(bytes.TrimSpace(text))
	if file == "" || file == os.DevNull {
		return "", errors.New("there is no go.mod here")
	}
	return filepath.Dir(file), nil
}

// folderOf returns the folder for the changed files of a module. It is always the same one, so that
// the go command finds in its cache what has not changed.
func folderOf(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "farad-observe", fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:16])
	return folder, os.MkdirAll(folder, 0o755)
}
