package postgres

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/farad-go/farad/fleet/store"
)

// postgres is the store of one namespace.
type postgres struct {
	source
	namespace string
	requests  *lane
	listens   func(context.Context) (*pgx.Conn, error)
	watch     atomic.Pointer[hand] // of the newest watch that runs; nil: none
}

// An Option changes how a store reaches its server.
type Option func(*options)

type options struct {
	listen *pgx.ConnConfig
	before func(context.Context, *pgx.ConnConfig) error
}

// WithListen has the store listen for notifications on connections of another configuration. It is
// needed if the first one leads to a pooler in transaction mode: this one has to lead past it.
func WithListen(config *pgx.ConnConfig) Option {
	if config == nil {
		panic("postgres: WithListen without a configuration")
	}
	return func(o *options) { o.listen = config.Copy() }
}

// WithBeforeConnect has each connection be made with what f makes of a copy of the configuration:
// for passwords that change. F may be called by several goroutines at a time.
func WithBeforeConnect(f func(context.Context, *pgx.ConnConfig) error) Option {
	return func(o *options) { o.before = f }
}

// New returns the store that has a namespace of the database to which the configuration leads. It
// panics if there is no configuration or no namespace. It does not connect.
//
// With a pool, use pool.Config().ConnConfig. The store has connections of its own, so that whatever
// else a program does with the database delays no renewal: at most two for requests and for the
// watch. Each is closed when it was not used for a minute, or its watch has ended.
func New(config *pgx.ConnConfig, namespace string, opts ...Option) store.Store {
	if config == nil || namespace == "" {
		panic("postgres: New without a configuration or a namespace")
	}
	o := options{listen: config}
	for _, opt := range opts {
		opt(&o)
	}
	p := &postgres{
		namespace: namespace,
		requests:  newLane(connector(config, o.before)),
		listens:   connector(o.listen, o.before),
	}
	p.source = source{p, ""}
	return p
}

// connector returns what makes connections. Statements are not prepared: a pooler may give each to
// another server.
func connector(
	config *pgx.ConnConfig, before func(context.Context, *pgx.ConnConfig) error,
) func(context.Context) (*pgx.Conn, error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	return func(ctx context.Context) (*pgx.Conn, error) {
		c := config.Copy()
		if before != nil {
			if err := before(ctx, c); err != nil {
				return nil, err
			}
		}
		return pgx.ConnectConfig(ctx, c)
	}
}

func (p *postgres) String() string { return p.namespace + " in Postgres" }

func (p *postgres) Line(kind, name string) store.Line {
	return &line{source{p, kind + "/" + url.PathEscape(name)}}
}

// row asks for one row, and scans it.
func (p *postgres) row(ctx context.Context, query string, args []any, into ...any) error {
	return p.requests.do(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, query, args...).Scan(into...)
	})
}

// schemaVersion is the version that this package needs.
const schemaVersion = 1

func (p *postgres) Grant(ctx context.Context, ttl time.Duration) (lease int64, lasts time.Duration, err error) {
	lasts = (ttl + time.Microsecond - 1).Truncate(time.Microsecond)
	err = p.row(ctx, "SELECT farad.grant_lease($1::integer, $2, $3)",
		[]any{int32(schemaVersion), p.namespace, lasts.Microseconds()}, &lease)
	return lease, lasts, err
}

func (p *postgres) Begin(ctx context.Context, s store.Session) (epoch int64, err error) {
	var is *int64
	err = p.row(ctx, "SELECT farad.begin_session($1, $2, $3)", []any{p.namespace, s.Lease, s.Who}, &is)
	return ended(is, err)
}

// ended returns an epoch, or that the lease has ended if there is none.
func ended(epoch *int64, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, err
	case epoch == nil:
		return 0, store.ErrEnded
	}
	return *epoch, nil
}

func (p *postgres) Revoke(ctx context.Context, lease int64) error {
	var was bool
	err := p.row(ctx, "SELECT farad.revoke($1, $2)", []any{p.namespace, lease}, &was)
	if err == nil && !was {
		return store.ErrEnded
	}
	return err
}

func (p *postgres) Sessions(ctx context.Context) (all []store.Session, err error) {
	err = p.requests.do(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT lease, who FROM farad.sessions($1)", p.namespace)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[store.Session])
		return err
	})
	return all, err
}

// Renew goes by the connection of requests.
func (p *postgres) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	err = p.requests.do(ctx, func(c *pgx.Conn) error {
		lasts, rev, _, err = p.renew(ctx, c, lease)
		return err
	})
	return lasts, rev, err
}

// renew returns in addition for how long no other lease ends.
func (p *postgres) renew(
	ctx context.Context, c *pgx.Conn, lease int64,
) (lasts time.Duration, rev int64, rest time.Duration, err error) {
	var micros int64
	var next *int64
	err = c.QueryRow(ctx, "SELECT lasts, rev, rest FROM farad.renew($1, $2)", p.namespace, lease).
		Scan(&micros, &rev, &next)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.Mark(err, store.ErrEnded)
	}
	return time.Duration(micros) * time.Microsecond, rev, untilEnd(next), err
}

// untilEnd returns for how long no lease ends. If there is none, that is long.
func untilEnd(micros *int64) time.Duration {
	if micros == nil {
		return time.Hour
	}
	return time.Duration(*micros) * time.Microsecond
}

// Ways names two, which are alike.
func (p *postgres) Ways() []string { return make([]string, 2) }

func (p *postgres) Way(string) store.Way { return way{p} }

// A way is the connection of the watch for one renewal at a time, and that of requests for others.
// So the watch learns from each renewal when a lease may end, and need not look. The connection of
// requests is closed meanwhile if nobody else uses it.
type way struct{ *postgres }

func (w way) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	h := w.watch.Load()
	if h == nil || !h.busy.CompareAndSwap(false, true) {
		return w.postgres.Renew(ctx, lease)
	}
	defer h.busy.Store(false)
	done := make(chan error, 1)
	renewal := func(watch context.Context, on *watching) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(watch, stop)()
		var rest time.Duration
		var err error
		lasts, rev, rest, err = w.renew(ctx, on.conn, lease)
		if err == nil {
			on.lookIn(rest)
		}
		done <- marked(err)
		return err
	}
	select {
	case h.jobs <- renewal:
		err = <-done
		return lasts, rev, err
	case <-h.ended:
		return w.postgres.Renew(ctx, lease)
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

func (way) Prepare() {}
func (way) Close()   {}

// marks are the errors that say something to a fleet, by their SQLSTATE. Of those that refuse, a
// server has carried out nothing.
var marks = map[string]error{
	"FA001": store.ErrCompacted,
	"53100": store.ErrNoSpace, // disk_full
	"28000": store.ErrRefused, // invalid_authorization_specification
	"28P01": store.ErrRefused, // invalid_password
	"3D000": store.ErrRefused, // invalid_catalog_name
	"3F000": store.ErrRefused, // invalid_schema_name
	"42501": store.ErrRefused, // insufficient_privilege
	"42883": store.ErrRefused, // undefined_function
}

// marked returns an error of Postgres as a fleet knows it.
func marked(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && marks[e.Code] != nil {
		return store.Mark(err, marks[e.Code])
	}
	return err
}
