package httplimit

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestAWaitEndsByWhateverIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(semaphore.New(0), &limit.AIMD{Min: 1, Max: 1})
		wait := func(ctx context.Context, longest time.Duration) (*limit.Permit, error) {
			o := newOptions(l, nil)
			o.longest = longest
			return o.wait(new(http.Request).WithContext(ctx), 1)
		}
		held, err := wait(t.Context(), time.Second)
		require.NoError(t, err)

		began := time.Now()
		p, err := wait(t.Context(), time.Second)
		require.Equal(t, context.DeadlineExceeded, err)
		require.Nil(t, p)
		require.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		p, err = wait(ctx, 0)
		require.Equal(t, context.Canceled, err)
		require.Nil(t, p)
		require.Equal(t, time.Minute, time.Since(began))

		time.AfterFunc(time.Second, held.Ignore)
		p, err = wait(t.Context(), time.Minute)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.InFlight())
		p.Ignore()
	})
}

func TestATenantIsTheSemaphores(t *testing.T) {
	sem := semaphore.New(0, semaphore.WithPriorities(2, 100))
	l := limit.New(sem, &limit.AIMD{Min: 1, Max: 1})
	wait := func(opts ...Option) (*limit.Permit, error) {
		o := newOptions(l, opts)
		return o.wait(new(http.Request), 1)
	}
	of := func(tenant any) Option { return WithTenant(func(*http.Request) any { return tenant }) }
	for _, opts := range [][]Option{nil, {of(1)}} {
		p, err := wait(opts...)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.InFlight())
		p.Ignore()
		require.EqualValues(t, 1, sem.Available())
	}
	require.Panics(t, func() { _, _ = wait(of(nil)) }) // no class
	sem.Close()
	p, err := wait(of(1))
	require.Equal(t, semaphore.ErrClosed, err)
	require.Nil(t, p)
}
