package fleet

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A store is the keys of one line. Kind is semaphore, mutex or rwmutex:
//
//	<namespace>/<kind>/<name>/size               of a semaphore: how many permits; no lease
//	<namespace>/<kind>/<name>/q/<lease>/<seq>    an entry: its weight; on the process's lease
//
// Lease and seq are of 16 hexadecimal digits. Other keys are not ours, and are ignored. White space
// around a number is ignored, too: a shell adds a newline. A value that does not parse counts as
// none: an entry without weight is none, and a size is 0.
type store struct {
	client *clientv3.Client
	prefix string        // with the slash
	size   int64         // of kinds that have one size; of a semaphore 0
	turns  chan struct{} // of all lines: has one for each request that is under way

	patience *patience // of requests of this line
}

// mostRequests is how many requests of lines a process has under way. Servers and proxies may allow
// a connection only 100 streams, and each is one: the lease and the watch need theirs.
const mostRequests = 64

// The kinds.
const (
	kindSemaphore = "semaphore"
	kindMutex     = "mutex"
	kindRWMutex   = "rwmutex"
)

func newStore(
	client *clientv3.Client, namespace, kind, name string, limit time.Duration, turns chan struct{},
) *store {
	prefix := namespace + "/" + kind + "/" + url.PathEscape(name) + "/"
	s := &store{client: client, prefix: prefix, turns: turns, patience: &patience{least: limit}}
	switch kind {
	case kindMutex:
		s.size = 1
	case kindRWMutex:
		s.size = line.Everyone
	}
	return s
}

func (s *store) sizeKey() string { return s.prefix + "size" }

func (s *store) key(k line.Key) string {
	return fmt.Sprintf("%sq/%016x/%016x", s.prefix, uint64(k.Lease), uint64(k.Seq))
}

// parse returns the change that a key and its value stand for, without a value a deletion.
func (s *store) parse(kv *mvccpb.KeyValue) (c line.Change, ok bool) {
	rest := strings.TrimPrefix(string(kv.Key), s.prefix)
	if n, err := strconv.ParseInt(strings.TrimSpace(string(kv.Value)), 10, 64); err == nil && n > 0 {
		c.Weight = min(n, MaxPermits)
	}
	if rest == "size" {
		return c, s.size == 0
	}
	rest, ok = strings.CutPrefix(rest, "q/")
	lease, seq, _ := strings.Cut(rest, "/")
	if !ok || len(lease) != 16 || len(seq) != 16 {
		return c, false
	}
	l, err1 := strconv.ParseUint(lease, 16, 63)
	q, err2 := strconv.ParseUint(seq, 16, 63)
	c.Key = line.Key{Lease: int64(l), Seq: int64(q)}
	c.Weight = c.Counts(kv.Lease, c.Weight)
	c.Create, c.Mod = kv.CreateRevision, kv.ModRevision
	lower := rest == strings.ToLower(rest) // so that an entry has one key only
	return c, err1 == nil && err2 == nil && l != 0 && lower
}

// state returns the line that a range of all keys at rev shows.
func (s *store) state(rev int64, kvs []*mvccpb.KeyValue) line.State {
	st := line.State{Rev: rev, Size: s.size}
	for _, kv := range kvs {
		switch c, ok := s.parse(kv); {
		case !ok:
		case c.Key == line.SizeKey:
			st.Size, st.SizeMod = c.Weight, kv.ModRevision
		case c.Weight > 0:
			st.Entries = append(st.Entries, c)
		}
	}
	st.Sort()
	return st
}

// within is ask when it is its turn, for as long as an answer is waited for.
func (s *store) within(
	ctx context.Context, ask func(context.Context) (line.State, error),
) (st line.State, err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return st, ctx.Err()
	}
	_, err = s.patience.once(ctx, func(ctx context.Context) (err error) {
		st, err = ask(ctx)
		return err
	})
	return st, err
}

// read reads the line, linearizably.
func (s *store) read(ctx context.Context) (line.State, error) {
	r, err := s.client.Get(ctx, s.prefix, clientv3.WithPrefix())
	if err != nil {
		return line.State{}, err
	}
	return s.state(r.Header.GetRevision(), r.Kvs), nil
}

// commit commits t and returns the line after it, whether or not its guards were true. After an
// error t may have been applied, or may be yet, unless the session's epoch becomes another one.
func (s *store) commit(ctx context.Context, t *line.Txn, o *session, epoch int64) (line.State, error) {
	if t.Fence {
		return s.fence(ctx, o)
	}
	guards := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(o.key), "=", epoch)}
	if t.Merges {
		guards = append(guards, clientv3.Compare(clientv3.ModRevision(s.sizeKey()), "=", t.SizeMod))
	}
	var ops []clientv3.Op
	for _, op := range t.Ops {
		k := s.key(op.Key)
		if op.Mod == 0 {
			guards = append(guards, clientv3.Compare(clientv3.CreateRevision(k), "=", 0))
		} else {
			guards = append(guards, clientv3.Compare(clientv3.ModRevision(k), "=", op.Mod))
		}
		if op.Weight == 0 {
			ops = append(ops, clientv3.OpDelete(k))
		} else {
			ops = append(ops, clientv3.OpPut(k, strconv.FormatInt(op.Weight, 10), clientv3.WithLease(o.lease)))
		}
	}
	r, st, err := s.txn(ctx, guards, ops, clientv3.OpGet(o.key, clientv3.WithKeysOnly()))
	if err != nil || r.Succeeded {
		return st, err
	}
	kvs := r.Responses[0].GetResponseRange().GetKvs()
	if len(kvs) == 0 { // somebody has deleted it
		return s.fence(ctx, o)
	}
	o.reach(kvs[0].ModRevision)
	return st, nil
}

// fence begins another epoch of a session: what was sent in an earlier one and was not carried out
// yet never will be. It returns the line as it is then.
func (s *store) fence(ctx context.Context, o *session) (line.State, error) {
	r, st, err := s.txn(ctx, nil, []clientv3.Op{clientv3.OpPut(o.key, o.who, clientv3.WithLease(o.lease))})
	if err == nil {
		o.reach(r.Header.GetRevision())
	}
	return st, err
}

// probe returns the line if this process may write to it, and changes nothing.
func (s *store) probe(ctx context.Context) (line.State, error) {
	never := clientv3.Compare(clientv3.ModRevision(s.sizeKey()), "<", 0)
	_, st, err := s.txn(ctx, []clientv3.Cmp{never}, []clientv3.Op{clientv3.OpPut(s.key(line.Key{Lease: 1}), "")})
	return st, err
}

// txn is a transaction that returns the line, and if the guards are not true what otherwise says
// before that.
func (s *store) txn(
	ctx context.Context, guards []clientv3.Cmp, ops []clientv3.Op, otherwise ...clientv3.Op,
) (*clientv3.TxnResponse, line.State, error) {
	all := clientv3.OpGet(s.prefix, clientv3.WithPrefix())
	r, err := s.client.Txn(ctx).If(guards...).Then(append(ops, all)...).Else(append(otherwise, all)...).Commit()
	if err != nil {
		return nil, line.State{}, err
	}
	kvs := r.Responses[len(r.Responses)-1].GetResponseRange().GetKvs()
	return r, s.state(r.Header.GetRevision(), kvs), nil
}

// create makes the line with a size, unless there is one, or entries: then somebody has deleted the
// size of a line that is in use. It returns the line.
func (s *store) create(ctx context.Context, size int64) (line.State, error) {
	unused := clientv3.Compare(clientv3.CreateRevision(s.prefix+"q/"), "=", 0).WithPrefix()
	return s.restore(ctx, size, unused)
}

// restore gives the line a size if there is none and the guards are true, and returns the line.
func (s *store) restore(ctx context.Context, size int64, guards ...clientv3.Cmp) (line.State, error) {
	if s.size != 0 {
		return s.read(ctx)
	}
	guards = append(guards, clientv3.Compare(clientv3.CreateRevision(s.sizeKey()), "=", 0))
	_, st, err := s.txn(ctx, guards, []clientv3.Op{clientv3.OpPut(s.sizeKey(), strconv.FormatInt(size, 10))})
	return st, err
}

// resize changes the size, if it was written last at revision mod, 0 if there is none. Otherwise it
// returns the size that there is, and its revision.
func (s *store) resize(ctx context.Context, size, mod int64) (done bool, now, at int64, err error) {
	k := s.sizeKey()
	r, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(k), "=", mod)).
		Then(clientv3.OpPut(k, strconv.FormatInt(size, 10))).Else(clientv3.OpGet(k)).Commit()
	if err != nil || r.Succeeded {
		return err == nil, size, 0, err
	}
	for _, kv := range r.Responses[0].GetResponseRange().GetKvs() {
		c, _ := s.parse(kv)
		return false, c.Weight, kv.ModRevision, nil
	}
	return false, 0, 0, nil
}
