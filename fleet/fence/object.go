package fence

import (
	"context"
	"errors"
	"fmt"
)

// ErrChanged is what [Object.Put] returns if the object has another version by now.
var ErrChanged = errors.New("fence: the object has changed")

// An Object is one object of a store that writes on a condition, with the new content: S3 and Azure
// by If-Match, Google Cloud Storage by ifGenerationMatch. One permit guards it.
//
// Objects of the same version must carry the same fence. A version that the store changes with
// every write does, as generations do. An ETag that is a hash of the content does not, if the fence
// stands beside the content: the content may return with a greater fence and the old ETag, and a
// stale write then satisfies its condition. So on S3 the fence is part of the content, or the
// content has a part that never returns.
//
// An object that is deleted forgets its fence: write an empty one instead.
type Object interface {
	// Stat returns the fence that the object carries, and its version. Both are empty if there is
	// no such object. A fence is empty if the object was written without one.
	Stat(ctx context.Context) (fence, version string, err error)
	// Put writes the object with this fence, if it still has this version; with an empty version,
	// if there is no such object yet. Otherwise it writes nothing and returns ErrChanged.
	Put(ctx context.Context, fence, version string) error
}

// Write writes o with the order of t, unless the object carries a greater one: the error is then a
// [StaleError]. After any other error of Put it is unknown whether the object was written. To call
// Write again with the same token settles it.
//
// A Put that finds another version is tried again, until ctx is done: each time another write has
// succeeded.
func Write(ctx context.Context, o Object, t Token) error {
	if err := t.check(); err != nil {
		return err
	}
	for {
		stored, version, err := o.Stat(ctx)
		if err != nil {
			return fmt.Errorf("fence: %w", err)
		}
		if err := staleOrder(t, stored); err != nil {
			return err
		}
		err = o.Put(ctx, t.Order(), version)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, ErrChanged):
			return fmt.Errorf("fence: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
