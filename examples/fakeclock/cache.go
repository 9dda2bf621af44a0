// Package fakeclock is the example of docs/guides/synctest.md: a program that holds a lock while
// time passes, and its test with a fake clock.
package fakeclock

import (
	"context"
	"time"

	"github.com/farad-go/farad/sync"
)

// A Cache asks a slow origin for each key once. Others who want the cache meanwhile wait.
type Cache struct {
	Origin func(key string) string
	TTL    time.Duration

	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	value string
	until time.Time
}

// Get returns the value of key, from the cache or from the origin. It gives up when ctx is done
// while another asks the origin.
func (c *Cache) Get(ctx context.Context, key string) (string, error) {
	if err := c.mu.LockContext(ctx); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && time.Now().Before(e.until) {
		return e.value, nil
	}
	if c.entries == nil {
		c.entries = map[string]entry{}
	}
	e := entry{value: c.Origin(key)}
	e.until = time.Now().Add(c.TTL)
	c.entries[key] = e
	return e.value, nil
}
