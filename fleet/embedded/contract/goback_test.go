package contract

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded"
)

// While processes run, the server is stopped, and goes on from a copy of its disk that is older, or
// from an empty one. What was held is lost. Who waits is served, asks no more than he has to, and
// learns that tokens are less than they were.
func TestAnOlderRevision(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	for name, empty := range map[string]bool{"of a copy": false, "of an empty disk": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			disk, kept := filepath.Join(dir, "member"), filepath.Join(dir, "copy")
			s, err := embedded.Start(dir)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			t.Cleanup(cancel)
			w := &world{T: t, ctx: ctx, server: s}
			w.client = w.newClient()
			again := func() {
				s, err = embedded.Start(dir)
				require.NoError(t, err)
			}
			one, two := w.join(fleet.WithTTL(ttl)), w.join(fleet.WithTTL(ttl))
			a, b := w.semaphore(one, 1), w.semaphore(two, 1)
			require.NoError(t, s.Close())
			require.NoError(t, os.CopyFS(kept, os.DirFS(disk)))
			again()
			for range 20 {
				require.NoError(t, a.Acquire(w.ctx, 1))
				a.Release(1)
				require.NoError(t, b.Acquire(w.ctx, 1))
				b.Release(1)
			}
			p, err := a.AcquirePermit(w.ctx, 1)
			require.NoError(t, err)
			got := make(chan *fleet.Permit, 1)
			go func() {
				q, err := b.AcquirePermit(w.ctx, 1)
				if err != nil {
					t.Error(err)
				}
				got <- q
			}()
			w.eventually(func() bool { return w.entries("semaphore") == 2 }, "it waits")

			require.NoError(t, s.Close())
			require.NoError(t, os.RemoveAll(disk))
			if !empty {
				require.NoError(t, os.Rename(kept, disk))
			}
			again()
			<-p.Lost()
			p.Release()
			q := <-got
			require.Less(t, q.Token().Rev, p.Token().Rev)
			require.LessOrEqual(t, w.entries("semaphore"), 4)
			all, err := two.Status(w.ctx)
			require.NoError(t, err)
			require.NotNil(t, all[0].Back)
			require.Less(t, all[0].Back.To, all[0].Back.From)
			q.Release()
			require.NoError(t, a.AcquireTimeout(20*time.Second, 1))
			a.Release(1)
			w.eventually(func() bool {
				all, err = one.Status(w.ctx)
				return err == nil && all[0].Back != nil
			}, "both know")
			for all[0].Back != nil { // until tokens are what they were
				_, err = w.client.Put(w.ctx, "elsewhere", "")
				require.NoError(t, err)
				require.NoError(t, a.Resize(w.ctx, 1))
				all, err = one.Status(w.ctx)
				require.NoError(t, err)
			}
		})
	}
}
