package fleettest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

// A broken is the store of a process, with a defect. What is nil it does right.
type broken struct {
	store.Store
	process  int
	line     func(l store.Line, kind, name string) store.Line
	sessions func(all []store.Session) []store.Session
}

func (b *broken) Line(kind, name string) store.Line {
	if b.line != nil {
		return b.line(b.Store.Line(kind, name), kind, name)
	}
	return b.Store.Line(kind, name)
}

func (b *broken) Sessions(ctx context.Context) ([]store.Session, error) {
	all, err := b.Store.Sessions(ctx)
	if b.sessions != nil {
		all = b.sessions(all)
	}
	return all, err
}

// A larger line has one permit more.
type larger struct{ store.Line }

func (l larger) Read(ctx context.Context) (store.State, error) {
	st, err := l.Line.Read(ctx)
	st.Size++
	return st, err
}

func (l larger) Commit(ctx context.Context, s store.Session, epoch int64, t *store.Txn) (store.State, int64, error) {
	st, epoch, err := l.Line.Commit(ctx, s, epoch, t)
	st.Size++
	return st, epoch, err
}

// A fixed line has its size for ever.
type fixed struct{ store.Line }

func (l fixed) SetSize(ctx context.Context, _, _ int64, _ bool) (store.State, bool, error) {
	st, err := l.Read(ctx)
	return st, true, err
}

// An altered line carries out other transactions than those that it gets.
type altered struct {
	store.Line
	alter func(now store.State, is int64, epoch *int64, t *store.Txn)
}

func (l altered) Commit(ctx context.Context, s store.Session, epoch int64, t *store.Txn) (store.State, int64, error) {
	now, is, err := l.Line.Commit(ctx, s, 0, &store.Txn{}) // changes nothing
	if err != nil {
		return now, is, err
	}
	other := *t
	other.Ops = slices.Clone(t.Ops)
	l.alter(now, is, &epoch, &other)
	return l.Line.Commit(ctx, s, epoch, &other)
}

// alters plants an altered line.
func alters(alter func(now store.State, is int64, epoch *int64, t *store.Txn)) func(b *broken) {
	return func(b *broken) {
		b.line = func(l store.Line, _, _ string) store.Line { return altered{l, alter} }
	}
}

// Defects of the store by which a fleet breaks its contract are found by each of some tests.
func TestPlantedDefectsAreFound(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]struct {
		found []string
		plant func(b *broken)
	}{
		"each process has lines of its own": {
			[]string{
				"ReadersAndWritersByOtherMeans", "PermitsAreSharedByProcesses", "KeysComeAndGo", "KeysAreLost",
				"ATryAsks", "ASemaphoreIsClosed",
			},
			func(b *broken) {
				b.line = func(_ store.Line, kind, name string) store.Line {
					return b.Store.Line(kind, fmt.Sprint(name, b.process))
				}
			},
		},
		"there is one permit more": {
			[]string{"PermitsAreSharedByProcesses", "ATryAsks", "Misuse", "Status"},
			func(b *broken) { b.line = func(l store.Line, _, _ string) store.Line { return larger{l} } },
		},
		"a key has its size for ever": {
			[]string{"AKeyIsResized"},
			func(b *broken) {
				b.line = func(l store.Line, kind, _ string) store.Line {
					if kind == "keyed" {
						return fixed{l}
					}
					return l
				}
			},
		},
		"an epoch that is over ends nothing": {
			[]string{"ARequestThatIsLateHasAnOwner"},
			alters(func(_ store.State, is int64, epoch *int64, _ *store.Txn) { *epoch = is }),
		},
		"guards are true": {
			[]string{"ARequestThatArrivesTwice"},
			alters(func(now store.State, _ int64, _ *int64, t *store.Txn) {
				for i, op := range t.Ops {
					t.Ops[i].Mod = 0
					for _, e := range now.Entries {
						if e.Key == op.Key {
							t.Ops[i].Mod = e.Mod
						}
					}
				}
			}),
		},
		"nothing is merged": {
			[]string{"PermitsTakenOneByOneAreAFewEntries"},
			alters(func(_ store.State, _ int64, _ *int64, t *store.Txn) {
				if t.Merges {
					t.Merges, t.Ops = false, slices.DeleteFunc(t.Ops, func(op store.Op) bool { return op.Mod != 0 })
				}
			}),
		},
		"what is returned stays": {
			[]string{"CloseReturnsWhatIsIdle", "AClosedFleetLeavesNothing", "TokensOutliveTheLine"},
			alters(func(_ store.State, _ int64, _ *int64, t *store.Txn) {
				t.Ops = slices.DeleteFunc(t.Ops, func(op store.Op) bool { return op.Weight == 0 })
			}),
		},
		"nobody is known": {
			[]string{"Status"},
			func(b *broken) { b.sessions = func([]store.Session) []store.Session { return nil } },
		},
	} {
		for _, found := range p.found {
			t.Run(name+"/"+found, func(t *testing.T) {
				t.Parallel()
				m, s := memstore.ForTests()
				defer m.Close()
				processes := 0
				s.Connect = func() store.Store {
					processes++
					b := &broken{Store: m.Connect(time.Millisecond), process: processes}
					if processes > 1 { // the first one is the operator
						p.plant(b)
					}
					return b
				}
				all := Tests()
				i := slices.IndexFunc(all, func(test Test) bool { return test.Name == found })
				if i < 0 {
					t.Fatal("there is no such test")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // some would wait for ever
				defer cancel()
				err := all[i].Run(ctx, s)
				if err == nil {
					t.Fatal("it is not found")
				}
				first, _, _ := strings.Cut(err.Error(), "\n")
				t.Log(first)
			})
		}
	}
}
