package deferinloop

import (
	"context"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

func each(mu *sync.Mutex, jobs []func()) {
	for _, job := range jobs {
		mu.Lock()
		defer mu.Unlock() // want `deferred mu.Unlock runs when the function ends, and the next turn of the loop acquires again`
		job()
	}
}

func permits(ctx context.Context, sem *semaphore.Semaphore, jobs []func() error) error {
	for _, job := range jobs {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
		defer sem.Release(1) // want `deferred sem.Release runs when the function ends`
		if err := job(); err != nil {
			return err
		}
	}
	return nil
}

type server struct{ mu sync.RWMutex }

func (s *server) serve(n int) {
	for i := 0; i < n; i++ {
		s.mu.RLock()
		defer s.mu.RUnlock() // want `deferred s.mu.RUnlock runs when the function ends`
		println(i)
	}
}

func last(mu *sync.Mutex, jobs []func()) {
	for _, job := range jobs {
		mu.Lock()
		job()
		defer mu.Unlock() // want `deferred mu.Unlock runs when the function ends`
	}
}

func forever(mu *sync.Mutex, next func() bool) {
	for {
		mu.Lock()
		defer mu.Unlock() // want `deferred mu.Unlock runs when the function ends`
		if !next() {
			break
		}
	}
}

func okInALiteral(mu *sync.Mutex, jobs []func()) {
	for _, job := range jobs {
		func() {
			mu.Lock()
			defer mu.Unlock()
			job()
		}()
	}
}

func okGoroutines(sem *semaphore.Semaphore, jobs []func()) {
	for _, job := range jobs {
		_ = sem.Acquire(context.Background(), 1)
		go func() {
			defer sem.Release(1)
			job()
		}()
	}
}

func okAllOfThem(all []*server) (n int) {
	for _, s := range all {
		s.mu.Lock()
		defer s.mu.Unlock()
		n++
	}
	return n
}

func okLeaves(mu *sync.Mutex, ready func() bool) {
	for {
		if !ready() {
			continue
		}
		mu.Lock()
		defer mu.Unlock()
		return
	}
}

func okCollects(ctx context.Context, sem *semaphore.Semaphore, n int) error {
	for range n {
		if err := sem.Acquire(ctx, 1); err != nil {
			return err
		}
		defer sem.Release(1)
	}
	return nil
}

func okOutside(mu *sync.Mutex, jobs []func()) {
	mu.Lock()
	defer mu.Unlock()
	for _, job := range jobs {
		job()
	}
}

func okElements(locks []sync.Mutex) {
	for i := range locks {
		locks[i].Lock()
		defer locks[i].Unlock()
	}
}

func okReleasedToo(mu *sync.Mutex, jobs []func() bool) {
	for _, job := range jobs {
		mu.Lock()
		if job() {
			defer mu.Unlock()
			return
		}
		mu.Unlock()
	}
}
