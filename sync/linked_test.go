//go:build !interleave

package sync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// A program with a mutex contains nothing that makes contexts, formats times, or keeps the records
// of observed locks: together 200 kB. The linker keeps all that the types of an interface's
// methods, or of what is put into an interface, lead to. So a field of the wrong type brings it
// back.
func TestAMutexBringsNeitherContextsNorRecords(t *testing.T) {
	for call, wanted := range map[string]bool{
		"mu.Lock()": false, "_ = mu.LockContext(context.TODO())": true,
	} {
		dir := t.TempDir()
		source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
		require.NoError(t, os.WriteFile(source, []byte(`package main

import (
	"context"
	"fmt"

	"github.com/farad-go/farad/sync"
)

var (
	mu sync.Mutex
	_  context.Context
)

func main() {
	`+call+`
	mu.Unlock()
	fmt.Println("ok")
}
`), 0o600))
		require.Empty(t, locktest.GoTool(t, "build", "-o", program, source))
		symbols := locktest.GoTool(t, "tool", "nm", program)
		require.Contains(t, symbols, "farad/sync.(*Mutex).lockSlow")
		for _, symbol := range []string{"context.AfterFunc", "time.Time.Format"} {
			require.Equal(t, wanted, strings.Contains(symbols, " "+symbol+"\n"), "%s: %s", call, symbol)
		}
		require.False(t, strings.Contains(symbols, "internal/observed/records"), symbols)
	}
}
