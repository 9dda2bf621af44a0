package contract

import (
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/fleet/fleettest"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// The fleet keeps its contract on etcd.
func TestContract(t *testing.T) { fleettest.Run(t, servers) }

// etcd keeps what a store has to promise.
func TestEtcdIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, servers)
}

// servers starts an etcd, and says what the tests of all stores have to know of it.
func servers(t *testing.T) *storetest.Servers {
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
		Fill: w.fill,
		DeleteSize: func(kind, name string) error {
			_, err := w.client.Delete(w.ctx, "test/"+kind+"/"+url.PathEscape(name)+"/size")
			return err
		},
	}
}

// fill has etcd do as it does without space, until drain is called: it refuses what writes.
func (w *world) fill() (drain func() error, err error) {
	st, err := w.client.Status(w.ctx, w.server.Endpoints()[0])
	if err != nil {
		return nil, err
	}
	alarm := &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE,
		Alarm:  etcdserverpb.AlarmType_NOSPACE, MemberID: st.Header.MemberId,
	}
	_, err = etcdserverpb.NewMaintenanceClient(w.client.ActiveConnection()).Alarm(w.ctx, alarm)
	return func() error {
		_, err := w.client.AlarmDisarm(w.ctx, &clientv3.AlarmMember{MemberID: alarm.MemberID, Alarm: alarm.Alarm})
		return err
	}, err
}
