package etcd_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// readme is the README's example, so that it compiles.
func readme(ctx context.Context, client *clientv3.Client) error {
	f, err := fleet.New(ctx, etcd.New(client, "billing")) // client is a *clientv3.Client of etcd
	if err != nil {
		return err
	}
	sem, err := f.Semaphore(ctx, "exports", 40) // 40 permits for all processes together
	if err != nil {
		return err
	}
	p, err := sem.AcquirePermit(ctx, 3)
	if err != nil {
		return err
	}
	defer p.Release()
	return nil
}

var _ = readme

func TestTheReadmeCompiles(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, snippet, found := strings.Cut(string(text), "## Many machines\n\n```go\n")
	require.True(t, found)
	snippet, _, _ = strings.Cut(snippet, "```")
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(snippet, "\n"), "\n", "\n\t") + "\n"
	require.Contains(t, string(source), indented, "readme is the example of the README")
}
