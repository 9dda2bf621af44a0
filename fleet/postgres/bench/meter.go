//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// A meter counts the statements of clients, by the function that each calls. The server's own
// figures would be some seconds late.
type meter struct {
	mu    sync.Mutex
	calls map[string]int
}

func newMeter() *meter { return &meter{calls: make(map[string]int)} }

// on has the statements of a connection be counted.
func (m *meter) on(c *pgx.ConnConfig) *pgx.ConnConfig {
	c.Tracer = m
	return c
}

func (m *meter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	_, name, _ := strings.Cut(q.SQL, "farad.")
	name, _, _ = strings.Cut(name, "(")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[name]++
	return ctx
}

func (*meter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// read returns how many statements there were, and begins anew.
func (m *meter) read() (all int, calls map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		all += n
	}
	calls, m.calls = m.calls, make(map[string]int)
	return all, calls
}

// parts names what statements there were, for each of n.
func parts(calls map[string]int, n float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		all = append(all, fmt.Sprintf("%s %.3g", name, float64(calls[name])/n))
	}
	return strings.Join(all, ", ")
}
