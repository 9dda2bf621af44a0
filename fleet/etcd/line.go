package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/store"
)

// A line is the keys of one line.
type line struct {
	source
	etcd *etcd
	id   string
}

func (l *line) ID() string { return l.id }

func (l *line) sizeKey() string { return l.prefix + "size" }

func (l *line) key(k store.Key) string {
	return fmt.Sprintf("%sq/%016x/%016x", l.prefix, uint64(k.Lease), uint64(k.Seq))
}

// parse returns the change that a key and its value stand for, without a value a deletion. The key
// is rest in its line.
func parse(rest string, kv *mvccpb.KeyValue) (c store.Change, ok bool) {
	if n, err := strconv.ParseInt(strings.TrimSpace(string(kv.Value)), 10, 64); err == nil && n > 0 {
		c.Weight = min(n, store.MaxWeight)
	}
	if rest == "size" {
		return c, true
	}
	rest, ok = strings.CutPrefix(rest, "q/")
	lease, seq, _ := strings.Cut(rest, "/")
	if !ok || len(lease) != 16 || len(seq) != 16 {
		return c, false
	}
	l, err1 := strconv.ParseUint(lease, 16, 63)
	q, err2 := strconv.ParseUint(seq, 16, 63)
	c.Key = store.Key{Lease: int64(l), Seq: int64(q)}
	c.Weight = store.Counts(c.Key, kv.Lease, c.Weight)
	c.Create, c.Mod = kv.CreateRevision, kv.ModRevision
	lower := rest == strings.ToLower(rest) // so that an entry has one key only
	return c, err1 == nil && err2 == nil && l != 0 && lower
}

// state returns the line that a range of all keys at rev shows.
func (l *line) state(rev int64, kvs []*mvccpb.KeyValue) store.State {
	st := store.State{Rev: rev}
	for _, kv := range kvs {
		switch c, ok := parse(strings.TrimPrefix(string(kv.Key), l.prefix), kv); {
		case !ok:
		case c.Key == store.SizeKey:
			st.Size, st.SizeMod = c.Weight, kv.ModRevision
		case c.Weight > 0:
			st.Entries = append(st.Entries, c)
		}
	}
	st.Sort()
	return st
}

func (l *line) Read(ctx context.Context) (store.State, error) {
	r, err := l.client.Get(ctx, l.prefix, clientv3.WithPrefix())
	if err != nil {
		return store.State{}, marked(err)
	}
	return l.state(r.Header.GetRevision(), r.Kvs), nil
}

// Commit has the last change of the session's key for the epoch. If somebody has deleted that key
// it is written again.
func (l *line) Commit(ctx context.Context, s store.Session, epoch int64, t *store.Txn) (store.State, int64, error) {
	session := l.etcd.sessionKey(s.Lease)
	guards := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(session), "=", epoch)}
	if t.Merges {
		guards = append(guards, clientv3.Compare(clientv3.ModRevision(l.sizeKey()), "=", t.SizeMod))
	}
	var ops []clientv3.Op
	for _, op := range t.Ops {
		k := l.key(op.Key)
		if op.Mod == 0 {
			guards = append(guards, clientv3.Compare(clientv3.CreateRevision(k), "=", 0))
		} else {
			guards = append(guards, clientv3.Compare(clientv3.ModRevision(k), "=", op.Mod))
		}
		if op.Weight == 0 {
			ops = append(ops, clientv3.OpDelete(k))
		} else {
			ops = append(ops, clientv3.OpPut(k, strconv.FormatInt(op.Weight, 10), onLease(s)))
		}
	}
	r, st, err := l.txn(ctx, guards, ops, clientv3.OpGet(session, clientv3.WithKeysOnly()))
	if err != nil || r.Succeeded {
		return st, epoch, err
	}
	kvs := r.Responses[0].GetResponseRange().GetKvs()
	if len(kvs) == 0 {
		return l.Fence(ctx, s)
	}
	return st, kvs[0].ModRevision, nil
}

func (l *line) Fence(ctx context.Context, s store.Session) (store.State, int64, error) {
	r, st, err := l.txn(ctx, nil, []clientv3.Op{clientv3.OpPut(l.etcd.sessionKey(s.Lease), s.Who, onLease(s))})
	if err != nil {
		return st, 0, err
	}
	return st, r.Header.GetRevision(), nil
}

// Probe is a write with a guard that is never true: etcd asks for the right to write first.
func (l *line) Probe(ctx context.Context) (store.State, error) {
	never := clientv3.Compare(clientv3.ModRevision(l.sizeKey()), "<", 0)
	_, st, err := l.txn(ctx, []clientv3.Cmp{never}, []clientv3.Op{clientv3.OpPut(l.key(store.Key{Lease: 1}), "")})
	return st, err
}

func (l *line) SetSize(ctx context.Context, size, mod int64, unused bool) (store.State, bool, error) {
	guards := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(l.sizeKey()), "=", mod)}
	if unused {
		guards = append(guards, clientv3.Compare(clientv3.CreateRevision(l.prefix+"q/"), "=", 0).WithPrefix())
	}
	r, st, err := l.txn(ctx, guards, []clientv3.Op{clientv3.OpPut(l.sizeKey(), strconv.FormatInt(size, 10))})
	return st, err == nil && r.Succeeded, err
}

// txn is a transaction that returns the line, and if the guards are not true what otherwise says
// before that.
func (l *line) txn(
	ctx context.Context, guards []clientv3.Cmp, ops []clientv3.Op, otherwise ...clientv3.Op,
) (*clientv3.TxnResponse, store.State, error) {
	all := clientv3.OpGet(l.prefix, clientv3.WithPrefix())
	r, err := l.client.Txn(ctx).If(guards...).Then(append(ops, all)...).Else(append(otherwise, all)...).Commit()
	if err != nil {
		return nil, store.State{}, marked(err)
	}
	kvs := r.Responses[len(r.Responses)-1].GetResponseRange().GetKvs()
	return r, l.state(r.Header.GetRevision(), kvs), nil
}
