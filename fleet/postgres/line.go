package postgres

import (
	"context"

	"github.com/farad-go/farad/fleet/store"
)

// A line is a row.
type line struct{ source }

func (l *line) ID() string { return l.line }

// A view is a line as functions return it.
type view struct {
	rev, size, sizeMod                int64
	leases, seqs, made, mods, weights []int64
}

const columns = "rev, size, size_mod, leases, seqs, made, mods, weights"

func (v *view) into(first ...any) []any {
	return append(first, &v.rev, &v.size, &v.sizeMod, &v.leases, &v.seqs, &v.made, &v.mods, &v.weights)
}

func (v *view) state() store.State {
	st := store.State{Rev: v.rev, Size: v.size, SizeMod: v.sizeMod}
	for i := range v.leases {
		st.Entries = append(st.Entries, store.Entry{
			Key:    store.Key{Lease: v.leases[i], Seq: v.seqs[i]},
			Create: v.made[i], Mod: v.mods[i], Weight: v.weights[i],
		})
	}
	return st
}

// ask calls a function that returns the line, after what goes into first.
func (l *line) ask(ctx context.Context, query string, args []any, first ...any) (store.State, error) {
	var v view
	args = append([]any{l.store.namespace, l.line}, args...)
	if err := l.store.row(ctx, query, args, v.into(first...)...); err != nil {
		return store.State{}, err
	}
	return v.state(), nil
}

func (l *line) Read(ctx context.Context) (store.State, error) {
	return l.ask(ctx, "SELECT "+columns+" FROM farad.read_line($1, $2)", nil)
}

func (l *line) Probe(ctx context.Context) (store.State, error) {
	return l.ask(ctx, "SELECT "+columns+" FROM farad.probe($1, $2)", nil)
}

func (l *line) Commit(ctx context.Context, s store.Session, epoch int64, t *store.Txn) (store.State, int64, error) {
	n := len(t.Ops)
	seqs, mods, weights := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, op := range t.Ops {
		seqs[i], mods[i], weights[i] = op.Seq, op.Mod, op.Weight
	}
	var sizeMod *int64
	if t.Merges {
		sizeMod = &t.SizeMod
	}
	var is *int64
	st, err := l.ask(ctx, "SELECT epoch, "+columns+" FROM farad.write_line($1, $2, $3, $4, $5, $6, $7, $8)",
		[]any{s.Lease, epoch, sizeMod, seqs, mods, weights}, &is)
	epoch, err = ended(is, err)
	return st, epoch, err
}

func (l *line) Fence(ctx context.Context, s store.Session) (store.State, int64, error) {
	var is *int64
	st, err := l.ask(ctx, "SELECT epoch, "+columns+" FROM farad.fence($1, $2, $3, $4)", []any{s.Lease, s.Who}, &is)
	epoch, err := ended(is, err)
	return st, epoch, err
}

func (l *line) SetSize(ctx context.Context, size, mod int64, unused bool) (st store.State, done bool, err error) {
	st, err = l.ask(ctx, "SELECT done, "+columns+" FROM farad.resize($1, $2, $3, $4, $5)",
		[]any{size, mod, unused}, &done)
	return st, done, err
}
