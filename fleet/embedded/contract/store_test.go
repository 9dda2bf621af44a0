package contract

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// etcd keeps what a store has to promise.
func TestEtcdIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Servers {
		w := newWorldAlone(t)
		return &storetest.Servers{
			Connect: func() store.Store { return etcd.New(w.newClient(), "test") },
			TTL:     2 * time.Second,
			Forget: func() error {
				r, err := w.client.Get(w.ctx, "x")
				if err == nil {
					_, err = w.client.Compact(w.ctx, r.Header.GetRevision(), clientv3.WithCompactPhysical())
				}
				return err
			},
			Fill: func() (func() error, error) {
				empty := w.fill()
				return func() error { empty(); return nil }, nil
			},
		}
	})
}
