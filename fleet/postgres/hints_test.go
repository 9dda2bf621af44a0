//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/store"
)

// A reads counts how often a watch has read what has changed.
type reads struct{ n atomic.Int64 }

func (r *reads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "farad.changes") {
		r.n.Add(1)
	}
	return ctx
}

func (*reads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Changes that concern nobody else are in no notification of their own, but in the next one. A
// watch reads only if they were too long for it.
func TestANotificationHasAllThatHasChanged(t *testing.T) {
	for _, changes := range []struct {
		alone, length int // that concern nobody else; bytes of a line's name
		reads         bool
	}{{0, 10, false}, {20, 10, false}, {100, 10, false}, {20, 500, true}} {
		w := newWorld(t, shared)
		r := &reads{}
		config := w.server.Config("worker")
		config.Tracer = r
		s := postgres.New(config, w.ns)
		var members []store.Session
		var epochs []int64
		for _, who := range []string{"a", "b"} {
			lease, _, err := s.Grant(w.ctx, time.Hour)
			require.NoError(t, err)
			m := store.Session{Lease: lease, Who: who}
			epoch, err := s.Begin(w.ctx, m)
			require.NoError(t, err)
			members, epochs = append(members, m), append(epochs, epoch)
		}
		rev, err := s.Revision(w.ctx)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(w.ctx)
		updates, signs, ended := make(chan store.Update, 200), make(chan struct{}, 1), make(chan error)
		go func() {
			ended <- s.Watch(ctx, rev, signs, func(u store.Update) bool {
				u.Events = append([]store.Event(nil), u.Events...)
				updates <- u
				return true
			})
		}()
		<-updates // it has begun
		signs <- struct{}{}
		<-updates // and has read
		before := r.n.Load()
		put := func(i int, name string) int64 {
			st, _, err := s.Line("mutex", name).Commit(w.ctx, members[i], epochs[i], &store.Txn{
				Ops: []store.Op{{Key: store.Key{Lease: members[i].Lease, Seq: 1}, Weight: 1}},
			})
			require.NoError(t, err)
			return st.Rev
		}
		var revs []int64
		for i := range changes.alone {
			revs = append(revs, put(0, fmt.Sprintf("%0*d", changes.length, i)))
		}
		revs = append(revs, put(0, "x"), put(1, "x"))
		for _, rev := range revs {
			u := <-updates
			require.Equal(t, rev, u.Rev)
			require.Len(t, u.Events, 1)
		}
		require.Equal(t, changes.reads, r.n.Load() > before)
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}
