package fence

import "context"

type contextKey struct{}

// NewContext returns a context that carries t. The clients of packages httpfence and grpcfence send
// it along, and their servers pass it on to handlers.
func NewContext(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext returns the token that ctx carries, and whether it carries one.
func FromContext(ctx context.Context) (Token, bool) {
	t, ok := ctx.Value(contextKey{}).(Token)
	return t, ok
}
